//! The client's name for one operation: how it is read off the header, and what is derived from it.
//!
//! Pure values. Nothing here reads a body, a clock or a database.

use std::fmt;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use sha2::{Digest, Sha256};

use crate::digest::part;
use crate::outbox::Places;
use crate::problem::{Problem, ProblemError};

/// The largest key, in bytes of its content.
pub(crate) const MAX_LENGTH: usize = 255;

/// Why a key was refused. The text goes to the client and never repeats what it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("The request has no key header.")]
    Missing,
    #[error("The key header may occur only once.")]
    Repeated,
    #[error("The key is empty.")]
    Empty,
    #[error("The key is longer than 255 bytes.")]
    TooLong,
    #[error(
        "The key must be one RFC 9651 String, or visible ASCII without quote, backslash, comma and semicolon."
    )]
    Malformed,
    #[error("The key must be a quoted RFC 9651 String without parameters.")]
    NotQuoted,
}

/// Reads the key from the headers: an RFC 9651 String, or (unless `strict`) its bare form.
pub(crate) fn parse(
    headers: &HeaderMap,
    name: &HeaderName,
    strict: bool,
) -> Result<Arc<str>, KeyError> {
    let mut values = headers.get_all(name);
    let value = values.next().ok_or(KeyError::Missing)?;
    if values.next().is_some() {
        return Err(KeyError::Repeated);
    }
    let value = value.as_bytes().trim_ascii();
    let content = match value.first() {
        None => return Err(KeyError::Empty),
        Some(b'"') => quoted(value)?,
        Some(_) if strict => return Err(KeyError::NotQuoted),
        Some(_) => bare(value)?.to_owned(),
    };
    if content.trim().is_empty() {
        return Err(KeyError::Empty);
    }
    if content.len() > MAX_LENGTH {
        return Err(KeyError::TooLong);
    }
    Ok(content.into())
}

/// RFC 9651, section 3.3.3, as the only member and without parameters.
fn quoted(value: &[u8]) -> Result<String, KeyError> {
    let item: sfv::Item = sfv::Parser::new(value)
        .parse()
        .map_err(|_| KeyError::Malformed)?;
    match item.bare_item {
        sfv::BareItem::String(content) if item.params.is_empty() => Ok(content.into()),
        _ => Err(KeyError::Malformed),
    }
}

fn bare(value: &[u8]) -> Result<&str, KeyError> {
    let allowed =
        |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b',' | b';');
    if !value.iter().all(allowed) {
        return Err(KeyError::Malformed);
    }
    std::str::from_utf8(value).map_err(|_| KeyError::Malformed)
}

/// The key of the running request, as an extractor for protected handlers.
///
/// Take it to send [derived](Self::derive) keys to other systems. On an endpoint whose key is
/// optional, take `Option<IdempotencyKey>`.
///
/// # Errors
///
/// Outside a protected handler, or where the client sent no key, the extractor answers 400 with the
/// problem `idempotency-key-missing`.
#[derive(Clone)]
pub struct IdempotencyKey {
    pub(crate) key: Arc<str>,
    pub(crate) scope: Arc<str>,
    /// Which messages the running handler has queued.
    pub(crate) places: Arc<Places>,
}

impl IdempotencyKey {
    pub(crate) fn new(scope: impl Into<Arc<str>>, key: impl Into<Arc<str>>) -> Self {
        Self {
            key: key.into(),
            scope: scope.into(),
            places: Arc::default(),
        }
    }

    /// The key's content as the client sent it, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// The namespace in which the key is unique, as it stands in the table.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// A key for another system: the same for every attempt of this operation, another one for each
    /// label, scope and key. 64 hexadecimal digits.
    #[must_use]
    pub fn derive(&self, label: &str) -> String {
        let mut hash = Sha256::new();
        for bytes in ["idem:derived:1", &self.scope, &self.key, label] {
            part(&mut hash, bytes.as_bytes());
        }
        hex::encode(hash.finalize())
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdempotencyKey(..)")
    }
}

impl FromRequest for IdempotencyKey {
    type Error = ProblemError;
    type Future = std::future::Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(
            request
                .extensions()
                .get::<Self>()
                .cloned()
                .ok_or_else(|| ProblemError::new(Problem::key(KeyError::Missing), request)),
        )
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn read(values: &[&[u8]], strict: bool) -> Result<String, KeyError> {
        let name = HeaderName::from_static("idempotency-key");
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name.clone(), HeaderValue::from_bytes(value).unwrap());
        }
        parse(&headers, &name, strict).map(|key| key.to_string())
    }

    #[test]
    fn quoted_and_bare_name_the_same_key() {
        assert_eq!(read(&[b"k"], false), Ok("k".into()));
        assert_eq!(read(&[b"\"k\""], false), Ok("k".into()));
        assert_eq!(read(&[b"\"a\\\"\\\\b \""], false), Ok("a\"\\b ".into()));
    }

    #[test]
    fn strict_takes_the_quoted_form_only() {
        assert_eq!(read(&[b"k"], true), Err(KeyError::NotQuoted));
        assert_eq!(read(&[b"\"k\""], true), Ok("k".into()));
    }

    #[test]
    fn the_limit_counts_the_content() {
        let longest = "x".repeat(255);
        assert_eq!(read(&[longest.as_bytes()], false), Ok(longest.clone()));
        assert_eq!(
            read(&[format!("\"{longest}\"").as_bytes()], false),
            Ok(longest)
        );
        assert_eq!(
            read(&["x".repeat(256).as_bytes()], false),
            Err(KeyError::TooLong)
        );
    }

    #[test]
    fn refused() {
        assert_eq!(read(&[], false), Err(KeyError::Missing));
        assert_eq!(read(&[b"a", b"a"], false), Err(KeyError::Repeated));
        for empty in [&b""[..], b"   ", b"\"\"", b"\"  \""] {
            assert_eq!(read(&[empty], false), Err(KeyError::Empty), "{empty:?}");
        }
        for bad in [
            &b"k, k2"[..],
            b"\"k\";p=1",
            b"\"k\", \"k2\"",
            b"k;p",
            b"a b",
            b"a\tb",
            b"k\xe9",
            b"\"k",
            b"\"k\xe9\"",
            b"a\"b",
            b"a\\b",
            b"\"k\" x",
            b"\"a\tb\"",
        ] {
            assert_eq!(read(&[bad], false), Err(KeyError::Malformed), "{bad:?}");
        }
    }

    #[test]
    fn derived_keys_do_not_collide() {
        let key = |scope: &str, key: &str| IdempotencyKey::new(scope, key);
        let one = key("a:b", "c").derive("charge");
        assert_eq!(one, key("a:b", "c").derive("charge"));
        assert_ne!(one, key("a", "b:c").derive("charge"));
        assert_ne!(one, key("a:b", "c").derive("refund"));
        assert_eq!(one.len(), 64);
    }
}
