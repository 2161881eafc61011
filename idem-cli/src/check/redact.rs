//! What a server leaves out of its records, taken out of answers in front of their comparison. All else stays, to the
//! byte.

use std::collections::BTreeMap;
use std::ops::Range;

use hyper::body::Bytes;
use hyper::header::HeaderMap;
use serde_json::value::RawValue;

const INSTEAD: &[u8] = br#""[redacted]""#;
/// Headers about the whole body. A replay that is not the whole body has none of them.
const WHOLE: [&str; 5] = [
    "etag",
    "content-digest",
    "repr-digest",
    "digest",
    "content-md5",
];

/// Takes these members out, RFC 6901, wherever there are such.
pub(super) fn redact(headers: &mut HeaderMap, body: &mut Bytes, pointers: &[String]) {
    if pointers.is_empty() {
        return;
    }
    for name in WHOLE {
        headers.remove(name);
    }
    for pointer in pointers {
        if let Some(place) = place(body, pointer) {
            let (before, behind) = (&body[..place.start], &body[place.end..]);
            *body = [before, INSTEAD, behind].concat().into();
        }
    }
}

/// Where in this JSON the value stands.
fn place(json: &[u8], pointer: &str) -> Option<Range<usize>> {
    let text = std::str::from_utf8(json).ok()?;
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for step in pointer.strip_prefix('/')?.split('/') {
        let step = step.replace("~1", "/").replace("~0", "~");
        value = match value.get().as_bytes().first()? {
            b'{' => {
                let members: BTreeMap<String, &RawValue> =
                    serde_json::from_str(value.get()).ok()?;
                members.get(&step).copied()?
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
                items.get(step.parse::<usize>().ok()?).copied()?
            }
            _ => return None,
        };
    }
    // A borrowed value is a part of the text.
    let start = (value.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(start..start + value.get().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(body: &'static str, pointer: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("etag", "\"a\"".parse().unwrap());
        let mut body = Bytes::from_static(body.as_bytes());
        redact(&mut headers, &mut body, &[pointer.to_owned()]);
        assert!(headers.is_empty());
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[test]
    fn all_else_stays_to_the_byte() {
        let json = "{ \"a/b\" : [1.0 , {\"~\":\"x\" }] ,\"c\": 2}\n";
        assert_eq!(
            redacted(json, "/a~1b/1/~0"),
            "{ \"a/b\" : [1.0 , {\"~\":\"[redacted]\" }] ,\"c\": 2}\n"
        );
        assert_eq!(
            redacted(json, "/a~1b"),
            "{ \"a/b\" : \"[redacted]\" ,\"c\": 2}\n"
        );
        for nowhere in ["/d", "/c/0", "/a~1b/2", "/a~1b/x"] {
            assert_eq!(redacted(json, nowhere), json);
        }
        assert_eq!(redacted("no JSON", "/c"), "no JSON");
    }
}
