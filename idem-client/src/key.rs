//! The name of one operation, and how it is written into a header.
//!
//! Pure values, but for the time and the random numbers of a generated key.

use std::fmt;

use reqwest::header::HeaderValue;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// The longest key, in bytes of its content: what `idem-runtime` takes, and most other servers.
const MAX_LENGTH: usize = 255;

/// The client's name for one operation.
///
/// It belongs to the intent, not to the request: make it once, before the first attempt, and keep it for as long as that
/// intent may be sent. Two intents that look the same (two coffees) have two keys.
///
/// It is saved as its text. Save [when it was made](crate::Request::created) beside it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Key(String);

/// How a key is written into its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeyForm {
    /// `"k"`: a String of RFC 9651 (section 3.3.3), as section 2.1 of the idempotency-key draft demands. A server that takes
    /// the value as it comes accepts it too: to that one the quotes are part of the key.
    #[default]
    Quoted,
    /// `k`: for servers that look into the key (is it a UUID, how long is it) and do not know of quotes.
    Bare,
}

/// Why there can be no such key. The key is not repeated here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// It is empty, or nothing but spaces.
    #[error("the key is empty")]
    Empty,
    /// It has more than 255 bytes.
    #[error("the key is longer than 255 bytes")]
    TooLong,
    /// It has other signs than those of a String of RFC 9651: visible ASCII and the space.
    #[error("the key is not visible ASCII")]
    NotAscii,
    /// It has a space, `"`, `\`, `,` or `;`, which only the quoted form can carry.
    #[error("the key cannot be written without quotes")]
    NotBare,
}

impl Key {
    /// A new key: a UUIDv7.
    ///
    /// It says when it was made (by this machine's clock), so that a server with `expired_keys = "refuse"` can tell a late retry
    /// from a new operation; make it when the operation is made, and not in advance. The rest of it is random: nobody
    /// else makes it by accident. Where keys are not kept apart by account, and guessing one must be out of the question,
    /// bring a longer one of your own.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// A key of the caller's own.
    ///
    /// # Errors
    ///
    /// It is empty, longer than 255 bytes, or not visible ASCII and spaces.
    pub fn new(content: impl Into<String>) -> Result<Self, InvalidKey> {
        let content = content.into();
        let is_text = |byte: &u8| matches!(byte, b' '..=b'~');
        match () {
            () if content.trim().is_empty() => Err(InvalidKey::Empty),
            () if content.len() > MAX_LENGTH => Err(InvalidKey::TooLong),
            () if !content.as_bytes().iter().all(is_text) => Err(InvalidKey::NotAscii),
            () => Ok(Self(content)),
        }
    }

    /// The key's content, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The header's value. It is marked sensitive, so that no log of a lower layer prints it.
    pub(crate) fn written(&self, form: KeyForm) -> Result<HeaderValue, InvalidKey> {
        let text = match form {
            KeyForm::Quoted => quoted(&self.0),
            KeyForm::Bare if self.0.contains([' ', '"', '\\', ',', ';']) => {
                return Err(InvalidKey::NotBare);
            }
            KeyForm::Bare => self.0.clone(),
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| InvalidKey::NotAscii)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// RFC 9651, section 4.1.6.
fn quoted(content: &str) -> String {
    let mut text = String::with_capacity(content.len() + 2);
    text.push('"');
    for sign in content.chars() {
        if matches!(sign, '"' | '\\') {
            text.push('\\');
        }
        text.push(sign);
    }
    text.push('"');
    text
}

/// As [`Key::new`]; the error repeats nothing of what was read.
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = String::deserialize(deserializer);
        let content = content.map_err(|_| D::Error::custom("a key is a text"))?;
        Self::new(content).map_err(D::Error::custom)
    }
}

/// Not the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(content: &str, form: KeyForm) -> Result<Vec<u8>, InvalidKey> {
        let value = Key::new(content).unwrap().written(form)?;
        Ok(value.as_bytes().to_vec())
    }

    #[test]
    fn the_quoted_form_is_a_string_of_rfc_9651() {
        for content in ["k", "a b", r#"a"b\c"#, "a,b;c=d", " ~"] {
            let text = written(content, KeyForm::Quoted).unwrap();
            let item: sfv::Item = sfv::Parser::new(&text).parse().unwrap();
            assert!(item.params.is_empty());
            match item.bare_item {
                sfv::BareItem::String(read) => assert_eq!(String::from(read), content),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_bare_form_is_the_content_or_an_error() {
        assert_eq!(
            written("0193a6e2-k_1", KeyForm::Bare).unwrap(),
            b"0193a6e2-k_1"
        );
        for content in ["a b", "a\"b", "a\\b", "a,b", "a;b"] {
            assert_eq!(
                written(content, KeyForm::Bare),
                Err(InvalidKey::NotBare),
                "{content}"
            );
        }
    }

    #[test]
    fn what_is_no_key() {
        assert_eq!(Key::new(""), Err(InvalidKey::Empty));
        assert_eq!(Key::new("  "), Err(InvalidKey::Empty));
        assert_eq!(Key::new("x".repeat(256)), Err(InvalidKey::TooLong));
        assert!(Key::new("x".repeat(255)).is_ok());
        for content in ["k\u{e9}", "a\tb", "a\nb", "a\u{7f}"] {
            assert_eq!(Key::new(content), Err(InvalidKey::NotAscii), "{content:?}");
        }
    }

    #[test]
    fn a_key_is_saved_as_its_text_and_read_as_a_key() {
        let key = Key::new("k\"1").unwrap();
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(text, r#""k\"1""#);
        assert_eq!(serde_json::from_str::<Key>(&text).unwrap(), key);
        let (long, accented) = ("4111".repeat(64), "4111\u{e9}");
        for bad in [
            json!(""),
            json!(4111),
            json!(["4111"]),
            json!(long),
            json!(accented),
        ] {
            let refused = serde_json::from_value::<Key>(bad).unwrap_err().to_string();
            assert!(!refused.contains("4111"), "{refused}");
        }
    }

    #[test]
    fn generated_keys_differ_and_tell_their_time() {
        let (one, two) = (Key::generate(), Key::generate());
        assert_ne!(one, two);
        let uuid: Uuid = one.as_str().parse().unwrap();
        assert_eq!(uuid.get_version_num(), 7);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
        assert!(written(one.as_str(), KeyForm::Bare).is_ok());
    }

    #[test]
    fn a_key_is_not_printed() {
        let key = Key::new("secret").unwrap();
        assert_eq!(format!("{key:?}"), "Key(..)");
        let value = key.written(KeyForm::Quoted).unwrap();
        assert!(!format!("{value:?}").contains("secret"));
    }
}
