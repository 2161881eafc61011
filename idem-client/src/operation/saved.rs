//! How an operation is saved: a versioned form that a person can read.
//!
//! Format only: what is secret is said in the parent.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url, Version};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{PendingOperation, check, needs_key, readable};

const VERSION: u32 = 1;

/// An operation as it is saved.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Saved {
    version: u32,
    /// Since 1970.
    created_ms: u64,
    retention_ms: Option<u64>,
    method: String,
    url: String,
    key_header: Option<String>,
    headers: Vec<(String, Octets)>,
    /// Names of headers that it needs and that were not saved.
    omitted: Vec<String>,
    body: Option<Octets>,
}

/// Text where it is text.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Octets {
    Text(String),
    Base64(String),
}

/// Why what was read is no operation. Nothing of it is repeated.
#[derive(Debug, thiserror::Error)]
pub(super) enum SavedError {
    #[error("a saved operation of version {0}, which this version does not know")]
    Version(u32),
    #[error("a saved operation without the key that its method needs")]
    NoKey,
    #[error("a saved operation with a bad {0}")]
    Bad(&'static str),
}

impl From<PendingOperation> for Saved {
    fn from(operation: PendingOperation) -> Self {
        let mut omitted = operation.missing.clone();
        let mut headers = Vec::new();
        for (name, value) in &operation.headers {
            if !operation.is_secret(name, value) {
                headers.push((name.as_str().to_owned(), Octets::of(value.as_bytes())));
            } else if !omitted.contains(name) {
                omitted.push(name.clone());
            }
        }
        let since = operation.created.duration_since(SystemTime::UNIX_EPOCH);
        Self {
            version: VERSION,
            created_ms: milliseconds(since.unwrap_or_default()),
            retention_ms: operation.retention.map(milliseconds),
            method: operation.method.as_str().to_owned(),
            url: operation.url.into(),
            key_header: operation.key_header.map(|name| name.as_str().to_owned()),
            headers,
            omitted: omitted
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect(),
            body: operation.body.as_deref().map(Octets::of),
        }
    }
}

/// serde's own messages repeat what they do not understand ("unknown variant `4111..`"), so they end here.
impl<'de> Deserialize<'de> for PendingOperation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::deserialize(deserializer);
        let saved = saved.map_err(|_| D::Error::custom("no saved operation"))?;
        saved.try_into().map_err(D::Error::custom)
    }
}

impl TryFrom<Saved> for PendingOperation {
    type Error = SavedError;

    fn try_from(saved: Saved) -> Result<Self, SavedError> {
        if saved.version != VERSION {
            return Err(SavedError::Version(saved.version));
        }
        let method: Method = saved
            .method
            .parse()
            .map_err(|_| SavedError::Bad("method"))?;
        let url: Url = saved.url.parse().map_err(|_| SavedError::Bad("URL"))?;
        check(&method, &url).map_err(|_| SavedError::Bad("method or URL"))?;
        let created = Duration::from_millis(saved.created_ms);
        let created = SystemTime::UNIX_EPOCH.checked_add(created);
        let mut headers = HeaderMap::new();
        for (name, value) in saved.headers {
            let value = HeaderValue::from_maybe_shared(value.bytes()?);
            headers.append(named(&name)?, value.map_err(|_| SavedError::Bad("header"))?);
        }
        let key_header = saved.key_header.as_deref().map(named).transpose()?;
        // Sent again without it, it would be done again.
        if key_header.is_none() && needs_key(&method) {
            return Err(SavedError::NoKey);
        }
        if let Some(name) = &key_header {
            let is_one = headers.get_all(name).iter().count() == 1;
            let key = headers.get_mut(name).filter(|_| is_one);
            let key = key.ok_or(SavedError::Bad("key"))?;
            readable(key).map_err(|_| SavedError::Bad("key"))?;
            key.set_sensitive(true);
        }
        Ok(Self {
            method,
            url,
            headers,
            body: saved.body.map(Octets::bytes).transpose()?,
            version: Version::default(),
            timeout: None,
            key_header,
            created: created.ok_or(SavedError::Bad("time"))?,
            retention: saved.retention_ms.map(Duration::from_millis),
            missing: saved
                .omitted
                .iter()
                .map(|name| named(name))
                .collect::<Result<_, _>>()?,
            may_have_arrived: true,
        })
    }
}

impl Octets {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    fn bytes(self) -> Result<Bytes, SavedError> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Base64(text) => STANDARD
                .decode(text)
                .map(Bytes::from)
                .map_err(|_| SavedError::Bad("base64 text")),
        }
    }
}

fn named(name: &str) -> Result<HeaderName, SavedError> {
    name.parse().map_err(|_| SavedError::Bad("header name"))
}

fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
