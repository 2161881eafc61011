//! Who asks: the headers that go with every request. What they say is never printed.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::error::Error;

/// The clients that there are.
pub(super) struct Callers {
    pub(super) me: HeaderMap,
    /// Somebody else, where it was said who.
    pub(super) other: Option<HeaderMap>,
    /// Nobody: without what tells the two apart.
    pub(super) nobody: Option<HeaderMap>,
}

impl Callers {
    pub(super) fn of(mine: &[String], others: &[String]) -> Result<Self, Error> {
        let me = lines("--header", mine)?;
        if others.is_empty() {
            return Ok(Self {
                me,
                other: None,
                nobody: None,
            });
        }
        let instead = lines("--other-header", others)?;
        let mut nobody = me.clone();
        for name in instead.keys() {
            nobody.remove(name);
        }
        let mut other = nobody.clone();
        other.extend(instead.clone());
        if other == me {
            return Err(Error::Usage(
                "--other-header: this says nothing else than --header".to_owned(),
            ));
        }
        Ok(Self {
            me,
            other: Some(other),
            nobody: Some(nobody),
        })
    }
}

/// Each is a header, or `@` and a file with one in each line: what stands on a command line, others can read.
fn lines(option: &str, texts: &[String]) -> Result<HeaderMap, Error> {
    let mut lines = HeaderMap::new();
    for text in texts {
        let file;
        let texts = match text.strip_prefix('@') {
            Some(path) => {
                file = std::fs::read_to_string(path)
                    .map_err(|error| Error::Usage(format!("{option}: {error}")))?;
                let lines = file.lines();
                lines.filter(|line| !line.trim().is_empty()).collect()
            }
            None => vec![text.as_str()],
        };
        for text in texts {
            let (name, value) = line(option, text)?;
            lines.append(name, value);
        }
    }
    Ok(lines)
}

/// `name: value`. An error does not repeat it: it may be a secret.
pub(super) fn line(option: &str, text: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let wrong = |what: &str| Error::Usage(format!("{option}: {what}"));
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| wrong("a header is a name, a colon and a value"))?;
    let name = name
        .trim()
        .parse()
        .map_err(|_| wrong("this is no name of a header"))?;
    let value = value.trim().parse();
    Ok((
        name,
        value.map_err(|_| wrong("this cannot be said in a header"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_else_differs_in_what_was_said() {
        let mine = ["Authorization: a".to_owned(), "X-Shop: 7".to_owned()];
        let callers = Callers::of(&mine, &["authorization: b".to_owned()]).unwrap();
        let (other, nobody) = (callers.other.unwrap(), callers.nobody.unwrap());
        assert_eq!(
            (other["authorization"].as_bytes(), &other["x-shop"]),
            (&b"b"[..], &callers.me["x-shop"])
        );
        assert_eq!(
            (nobody.len(), &nobody["x-shop"]),
            (1, &callers.me["x-shop"])
        );
        assert!(Callers::of(&mine, &mine[..1]).is_err());
        assert!(Callers::of(&mine, &[]).unwrap().other.is_none());
    }

    #[test]
    fn a_wrong_header_is_not_repeated() {
        for text in ["hunter2", "a b: hunter2", "a: hunter2\u{7f}"] {
            let error = line("--header", text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
