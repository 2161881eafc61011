//! The bodies of requests, and what can be made of a JSON text without changing, or with changing, what it means.

use std::collections::BTreeMap;
use std::io::{Read, stdin};

use hyper::body::Bytes;
use serde_json::value::RawValue;

use super::asked::Asked;
use crate::error::Error;

pub(super) struct Bodies {
    pub(super) usual: Bytes,
    pub(super) other: Option<Bytes>,
    pub(super) slow: Option<Bytes>,
    pub(super) failing: Option<Bytes>,
}

impl Bodies {
    pub(super) fn of(asked: &Asked) -> Result<Self, Error> {
        let usual = body("--body", asked.body.as_deref())?.unwrap_or_default();
        let another = |option: &str, text: &Option<String>| {
            let another = body(option, text.as_deref())?;
            match &another {
                Some(body) if *body == usual => Err(Error::Usage(format!(
                    "{option}: this is the same as --body"
                ))),
                _ => Ok(another),
            }
        };
        let other = another("--other-body", &asked.other_body)?;
        let slow = another("--slow-body", &asked.slow_body)?;
        let failing = another("--failing-body", &asked.failing_body)?;
        Ok(Self {
            usual,
            other,
            slow,
            failing,
        })
    }
}

fn body(option: &str, text: Option<&str>) -> Result<Option<Bytes>, Error> {
    let Some(text) = text else { return Ok(None) };
    let unreadable = |error| Error::Usage(format!("{option}: {error}"));
    let body = if text == "-" {
        let mut body = Vec::new();
        stdin().read_to_end(&mut body).map_err(unreadable)?;
        body
    } else if let Some(path) = text.strip_prefix('@') {
        std::fs::read(path).map_err(unreadable)?
    } else {
        text.as_bytes().to_vec()
    };
    Ok(Some(body.into()))
}

/// The same JSON with members in another order and other white space; nothing if this is no JSON object or array.
pub(super) fn rearranged(json: &[u8]) -> Option<Bytes> {
    let value: &RawValue = serde_json::from_slice(json).ok()?;
    let is_structure = value.get().starts_with(['{', '[']);
    is_structure.then(|| rearrange(value).map(Bytes::from))?
}

fn rearrange(value: &RawValue) -> Option<String> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            let members = members.iter().rev().map(|(name, value)| {
                let name = serde_json::to_string(name).ok()?;
                Some(format!("{name} : {}", rearrange(value)?))
            });
            let members: Option<Vec<_>> = members.collect();
            Some(format!("{{\n\t{} }}", members?.join(" ,\n\t")))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items: Option<Vec<_>> = items.into_iter().map(rearrange).collect();
            Some(format!("[ {} ]", items?.join(" , ")))
        }
        _ => Some(text.to_owned()),
    }
}

/// The same JSON with the first of its integers as a decimal fraction, `1` as `1.0`; nothing if there is none.
pub(super) fn with_fraction(json: &[u8]) -> Option<Bytes> {
    let _: &RawValue = serde_json::from_slice(json).ok()?;
    let (mut is_text, mut at) = (false, 0);
    while let Some(sign) = json.get(at) {
        match sign {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            b'-' | b'0'..=b'9' if !is_text => {
                let rest = json.get(at..)?;
                let end = rest
                    .iter()
                    .position(|sign| !b"+-.0123456789eE".contains(sign));
                let number = &rest[..end.unwrap_or(rest.len())];
                if number
                    .iter()
                    .all(|sign| *sign == b'-' || sign.is_ascii_digit())
                {
                    let behind = at + number.len();
                    return Some([&json[..behind], b".0", &json[behind..]].concat().into());
                }
                at += number.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_rearranged_means_the_same_to_the_last_digit() {
        let json = br#"{"b":[1.0,{"y":90071992547409931234,"x":"a\"}"}],"a":"\u00e9"}"#;
        let other = rearranged(json).unwrap();
        assert_ne!(&other[..], json);
        let text = String::from_utf8(other.to_vec()).unwrap();
        assert!(
            text.contains("90071992547409931234") && text.contains("1.0"),
            "{text}"
        );
        assert!(text.find("\"y\"") < text.find("\"x\""), "{text}");
        let value = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap();
        assert_eq!(value(&other), value(json));
        for none in [&b"7"[..], b"\"a\"", b"a=1", b""] {
            assert_eq!(rearranged(none), None);
        }
    }

    #[test]
    fn the_first_integer_becomes_a_fraction() {
        for (json, other) in [
            (
                r#"{"a":"1 \" 2","b":[1.5,-20]}"#,
                r#"{"a":"1 \" 2","b":[1.5,-20.0]}"#,
            ),
            ("7", "7.0"),
            (r#"{"a":1e3,"b":0}"#, r#"{"a":1e3,"b":0.0}"#),
        ] {
            assert_eq!(with_fraction(json.as_bytes()).unwrap(), other);
        }
        for none in [r#"{"a":"1"}"#, "1.5", "a=1", ""] {
            assert_eq!(with_fraction(none.as_bytes()), None);
        }
    }
}
