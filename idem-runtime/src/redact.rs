//! Leaving members out of the copy of a JSON body that is stored.
//!
//! Every other byte stays as it was: nothing is written anew. No SQL, no decisions about an answer.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What stands in the place of a value that is left out.
const REDACTED: &[u8] = br#""[redacted]""#;

/// The text without the values at these JSON pointers (RFC 6901); a pointer that leads nowhere leaves nothing out.
/// Nothing if no value was left out; `Err` if the text is not JSON.
pub(crate) fn redacted(text: &[u8], pointers: &[&str]) -> Result<Option<Vec<u8>>, NotJson> {
    let source = std::str::from_utf8(text).map_err(|_| NotJson)?;
    let whole: &RawValue = serde_json::from_str(source).map_err(|_| NotJson)?;
    let mut values = Vec::new();
    for pointer in pointers {
        let names: Vec<_> = pointer.split('/').skip(1).map(unescaped).collect();
        find(whole, &names, &mut values)?;
    }
    let start = source.as_ptr().addr();
    let mut spans: Vec<Range<usize>> = values
        .into_iter()
        .map(|value| {
            let at = value.get().as_ptr().addr() - start;
            at..at + value.get().len()
        })
        .collect();
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    if spans.is_empty() {
        return Ok(None);
    }
    let mut redacted = Vec::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        // A value within one that is left out already.
        if span.start < at {
            continue;
        }
        redacted.extend_from_slice(text.get(at..span.start).unwrap_or_default());
        redacted.extend_from_slice(REDACTED);
        at = span.end;
    }
    redacted.extend_from_slice(text.get(at..).unwrap_or_default());
    Ok(Some(redacted))
}

/// The text is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("it is not JSON")]
pub(crate) struct NotJson;

/// A name out of a pointer (RFC 6901, section 4).
fn unescaped(name: &str) -> Cow<'_, str> {
    match name.contains('~') {
        true => name.replace("~1", "/").replace("~0", "~").into(),
        false => name.into(),
    }
}

/// Adds every value that these names lead to: a member may be there twice.
fn find<'a>(
    value: &'a RawValue,
    names: &[Cow<'_, str>],
    found: &mut Vec<&'a RawValue>,
) -> Result<(), NotJson> {
    let Some((name, rest)) = names.split_first() else {
        found.push(value);
        return Ok(());
    };
    let text = value.get();
    if text.starts_with('{') {
        let Members(members) = serde_json::from_str(text).map_err(|_| NotJson)?;
        for (_, value) in members.into_iter().filter(|(its, _)| its == name) {
            find(value, rest, found)?;
        }
    } else if text.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| NotJson)?;
        // Without leading zeros, by section 4.
        let index = name.parse::<usize>().ok();
        let index = index.filter(|index| index.to_string() == **name);
        if let Some(value) = index.and_then(|index| elements.get(index)) {
            find(value, rest, found)?;
        }
    }
    Ok(())
}

/// The members of an object, all of them, in order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;
    use serde_json::Value;

    use super::*;

    fn redact(text: &str, pointers: &[&str]) -> String {
        let redacted = redacted(text.as_bytes(), pointers).unwrap();
        redacted.map_or_else(
            || text.to_owned(),
            |bytes| String::from_utf8(bytes).unwrap(),
        )
    }

    #[test]
    fn every_other_byte_stays_as_it_was() {
        assert_eq!(
            redact(
                "{ \"id\" : 1.0,\n  \"card\": {\"number\": \"4111\" , \"brand\":\"v\"}, \"big\": 9007199254740993 }",
                &["/card/number"],
            ),
            "{ \"id\" : 1.0,\n  \"card\": {\"number\": \"[redacted]\" , \"brand\":\"v\"}, \"big\": 9007199254740993 }",
        );
    }

    #[test]
    fn a_value_of_any_kind_is_left_out_wherever_it_stands() {
        let text = r#"{"a":[1,{"b":null},[true]],"c/d":{"~":-1e3},"":"x"}"#;
        for (pointers, left) in [
            (
                &["/a/0"][..],
                r#"{"a":["[redacted]",{"b":null},[true]],"c/d":{"~":-1e3},"":"x"}"#,
            ),
            (
                &["/a/1/b"],
                r#"{"a":[1,{"b":"[redacted]"},[true]],"c/d":{"~":-1e3},"":"x"}"#,
            ),
            (
                &["/a/2"],
                r#"{"a":[1,{"b":null},"[redacted]"],"c/d":{"~":-1e3},"":"x"}"#,
            ),
            (
                &["/c~1d/~0"],
                r#"{"a":[1,{"b":null},[true]],"c/d":{"~":"[redacted]"},"":"x"}"#,
            ),
            (
                &["/"],
                r#"{"a":[1,{"b":null},[true]],"c/d":{"~":-1e3},"":"[redacted]"}"#,
            ),
            (
                &["/a/1/b", "/a", "/"],
                r#"{"a":"[redacted]","c/d":{"~":-1e3},"":"[redacted]"}"#,
            ),
        ] {
            assert_eq!(redact(text, pointers), left, "{pointers:?}");
        }
    }

    #[test]
    fn a_member_that_is_there_twice_or_is_written_with_escapes_is_not_overlooked() {
        assert_eq!(
            redact(r#"{"pin":1,"pin":2,"p\u0069n":3,"PIN":4}"#, &["/pin"]),
            r#"{"pin":"[redacted]","pin":"[redacted]","p\u0069n":"[redacted]","PIN":4}"#,
        );
    }

    #[test]
    fn a_pointer_that_leads_nowhere_leaves_nothing_out() {
        let text = r#"{"a":[1],"b":"text"}"#;
        for pointer in ["/c", "/a/1", "/a/00", "/a/-", "/a/b", "/b/0", "/a/0/x"] {
            assert!(
                redacted(text.as_bytes(), &[pointer]).unwrap().is_none(),
                "{pointer}"
            );
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a\\[\\]{}\",:\\\\~/\u{e9}\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map("[a0~/\u{e9}\"\\\\]{0,2}", inner, 0..5)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    /// Where anything stands in it.
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        let mut inside = |name: &str, value: &Value| {
            let name = name.replace('~', "~0").replace('/', "~1");
            let at = format!("{at}/{name}");
            found.push(at.clone());
            places(value, &at, found);
        };
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| inside(name, value)),
            Value::Array(elements) => {
                let elements = elements.iter().enumerate();
                elements.for_each(|(place, value)| inside(&place.to_string(), value));
            }
            _ => {}
        }
    }

    proptest! {
        /// As serde_json finds places and writes values.
        #[test]
        fn whatever_is_pointed_at_is_left_out_and_nothing_else(
            mut value in value(),
            chosen in prop::collection::vec(any::<Index>(), 1..4),
            is_pretty: bool,
        ) {
            let text = match is_pretty {
                true => serde_json::to_string_pretty(&value),
                false => serde_json::to_string(&value),
            }
            .unwrap();
            let mut all = Vec::new();
            places(&value, "", &mut all);
            prop_assume!(!all.is_empty());
            let pointers: Vec<_> = chosen.iter().map(|index| &*all[index.index(all.len())]).collect();
            let redacted = redact(&text, &pointers);
            for pointer in pointers {
                // It may be within one that is gone already.
                if let Some(place) = value.pointer_mut(pointer) {
                    *place = "[redacted]".into();
                }
            }
            prop_assert_eq!(serde_json::from_str::<Value>(&redacted).unwrap(), value);
        }
    }

    #[test]
    fn nesting_however_deep_is_looked_into() {
        let text = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(redact(&text, &["/a"]), r#"{"a":"[redacted]"}"#);
        assert_eq!(redact(&text, &["/a/0/0"]), r#"{"a":[["[redacted]"]]}"#);
    }

    #[test]
    fn what_is_not_json_is_said_to_be_none() {
        for text in ["", "{", "{\"a\":}", "text", "{}{}", "{'a':1}"] {
            assert!(redacted(text.as_bytes(), &["/a"]).is_err(), "{text}");
        }
        assert!(redacted(b"\"\xff\"", &["/a"]).is_err());
    }
}
