//! The key parser against the README's rule, spelled out character by character.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::key::{KeyError, parse};

/// The lines of the key's header, one after the other.
pub fn key(data: &[u8]) {
    let lines: Vec<_> = data
        .split(|byte| *byte == b'\n')
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .collect();
    for strict in [false, true] {
        assert_eq!(read(&lines, strict), by_the_rule(&lines, strict));
    }
    let Ok(content) = read(&lines, false) else {
        return;
    };
    // Quoted, it names the same key.
    let quoted = content.replace('\\', "\\\\").replace('"', "\\\"");
    let quoted = HeaderValue::try_from(format!("\"{quoted}\"")).expect("visible ASCII");
    assert_eq!(read(&[quoted], true), Ok(content));
}

fn read(lines: &[HeaderValue], strict: bool) -> Result<String, KeyError> {
    let name = HeaderName::from_static("idempotency-key");
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name.clone(), line.clone());
    }
    parse(&headers, &name, strict).map(|key| key.to_string())
}

fn by_the_rule(lines: &[HeaderValue], strict: bool) -> Result<String, KeyError> {
    let [line] = lines else {
        return Err(match lines {
            [] => KeyError::Missing,
            _ => KeyError::Repeated,
        });
    };
    let characters: Vec<_> = line.as_bytes().iter().copied().map(char::from).collect();
    let is_space = |c: &char| [' ', '\t'].contains(c);
    let Some(first) = characters.iter().position(|c| !is_space(c)) else {
        return Err(KeyError::Empty);
    };
    let last = characters.iter().rposition(|c| !is_space(c)).expect("one");
    let content = match &characters[first..=last] {
        ['"', inner @ ..] => unquoted(inner).ok_or(KeyError::Malformed)?,
        _ if strict => return Err(KeyError::NotQuoted),
        bare => match bare
            .iter()
            .all(|c| ('!'..='~').contains(c) && !"\"\\,;".contains(*c))
        {
            true => bare.iter().collect(),
            false => return Err(KeyError::Malformed),
        },
    };
    match content.len() {
        _ if content.chars().all(|c| c == ' ') => Err(KeyError::Empty),
        ..=255 => Ok(content),
        _ => Err(KeyError::TooLong),
    }
}

/// What is between the quotes; the first one has been read, and nothing may follow the last.
fn unquoted(mut rest: &[char]) -> Option<String> {
    let mut content = String::new();
    loop {
        match rest {
            ['"'] => return Some(content),
            ['\\', escaped @ ('"' | '\\'), behind @ ..] => {
                content.push(*escaped);
                rest = behind;
            }
            [plain @ ' '..='~', behind @ ..] if !['"', '\\'].contains(plain) => {
                content.push(*plain);
                rest = behind;
            }
            _ => return None,
        }
    }
}
