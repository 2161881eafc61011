//! One operation on its way: the request with its key, and what has to be known of it to send it again, also by another process.
//!
//! Nothing here sends. How it is saved is in `saved`.

mod saved;

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::{
    AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION,
};
use reqwest::{Method, Request, Url, Version};
use serde::Serialize;

use crate::error::NotSent;
use crate::key::{InvalidKey, Key, KeyForm};
use crate::outcome::Why;
use saved::Saved;

/// They are not saved, marked or not.
const SECRETS: [HeaderName; 3] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE];

/// An operation that may not be over: method, URL, headers, body and key, made once and the same at every attempt.
///
/// # Saved before the first attempt
///
/// It is [`Serialize`] and [`Deserialize`](serde::Deserialize), so that a process that may die between two attempts can write it down first and go on
/// after its restart, with the same key. The format is versioned and stays readable. Write the file so that it is there, and whole, before the first
/// attempt: under another name, synced, then renamed. Delete what is over.
///
/// What is saved holds the URL, the body and the key: guard it like them. `Authorization`, `Proxy-Authorization` and `Cookie` are
/// **not** saved, nor is any header whose value [is marked sensitive](HeaderValue::set_sensitive), as those of
/// `bearer_auth` are. Their names are: until each is [given back](Self::secret_header), running the operation is an error,
/// and nothing is sent. (Or have them in the [HTTP client's](crate::Builder::http) default headers.) The version of HTTP and the
/// time-out of a [`Request`] are not saved either. What is damaged is an error when it is read, which repeats nothing of it.
///
/// # Age
///
/// It knows when it was made (or when its [key](crate::Request::created) was), by this machine's clock, and how long the server
/// retains, if [that was said](crate::Builder::retention). Nearly as old as that (less a tenth, or five minutes where this is
/// less) it is not sent any more: the outcome is [`Why::RetentionOver`]. That is looked at before each attempt. A clock that
/// stands before the time when it was made, by more than the same margin, tells no age: [`Why::ClockBehind`].
#[derive(Clone, Serialize)]
#[serde(into = "Saved")]
pub struct PendingOperation {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
    version: Version,
    timeout: Option<Duration>,
    /// Where the key stands, if there is one.
    key_header: Option<HeaderName>,
    created: SystemTime,
    retention: Option<Duration>,
    /// Not saved, and not given back yet.
    missing: Vec<HeaderName>,
    may_have_arrived: bool,
}

/// How keys are made and written.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) header: HeaderName,
    pub(crate) form: KeyForm,
}

/// What the caller says of an operation beside the request.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    pub(crate) key: Option<Key>,
    pub(crate) created: Option<SystemTime>,
    pub(crate) retention: Option<Duration>,
    pub(crate) may_have_arrived: bool,
}

impl PendingOperation {
    /// Reads a request, and gives it a key if it needs one and has none.
    pub(crate) fn of(request: &Request, keys: &Keys, terms: Terms) -> Result<Self, NotSent> {
        let (method, url) = (request.method().clone(), request.url().clone());
        check(&method, &url)?;
        let body = match request.body() {
            None => None,
            Some(body) => Some(Bytes::copy_from_slice(
                body.as_bytes().ok_or(NotSent::Stream)?,
            )),
        };
        let mut headers = request.headers().clone();
        let has_key = name_it(&mut headers, &method, keys, terms.key)?;
        Ok(Self {
            method,
            url,
            headers,
            body,
            version: request.version(),
            timeout: request.timeout().copied(),
            key_header: has_key.then(|| keys.header.clone()),
            created: terms.created.unwrap_or_else(SystemTime::now),
            retention: terms.retention,
            missing: Vec::new(),
            may_have_arrived: terms.may_have_arrived,
        })
    }

    /// The key as it is sent, with its quotes if it has them; `None` for an idempotent method (RFC 9110, section 9.2.2), which needs
    /// no key, unless the caller gave it one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.headers.get(self.key_header.as_ref()?)?.to_str().ok()
    }

    /// Its method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// When it was made, by the clock of the machine where it was.
    #[must_use]
    pub fn created(&self) -> SystemTime {
        self.created
    }

    /// Whether an attempt may have reached the server. It is so for everything that was saved, because a process that died
    /// cannot say how far it came.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        self.may_have_arrived
    }

    /// Sets a header that is not saved: the token that the saved operation lacks, or a new one in place of one that was refused.
    /// Everything else stays as it was, because another request would be another operation.
    ///
    /// A token must be of the same account: to a server that keeps the keys of accounts apart, the same key under another account is
    /// an operation that it has never seen, and does.
    pub fn secret_header(&mut self, name: HeaderName, mut value: HeaderValue) {
        // The key is what makes it this operation.
        if self.key_header.as_ref() == Some(&name) {
            return;
        }
        value.set_sensitive(true);
        self.missing.retain(|missing| *missing != name);
        self.headers.insert(name, value);
    }

    /// The request, for one attempt.
    pub(crate) fn request(&self) -> Request {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        request.headers_mut().clone_from(&self.headers);
        *request.body_mut() = self.body.clone().map(Into::into);
        *request.version_mut() = self.version;
        *request.timeout_mut() = self.timeout;
        request
    }

    /// Whether it has all that it needs.
    pub(crate) fn check(&self) -> Result<(), NotSent> {
        match self.missing.first() {
            Some(name) => Err(NotSent::Header(name.clone())),
            None if needs_key(&self.method) && self.key().is_none() => Err(NotSent::NoKey),
            None => Ok(()),
        }
    }

    pub(crate) fn set_may_have_arrived(&mut self, may: bool) {
        self.may_have_arrived = may;
    }

    /// For how long from now on the server still knows its key; without an end where nobody knows, and otherwise never nothing.
    /// `default` is for what says nothing itself.
    pub(crate) fn time_left(
        &self,
        default: Option<Duration>,
        now: SystemTime,
    ) -> Result<Duration, Why> {
        let Some(retention) = self.retention.or(default) else {
            return Ok(Duration::MAX);
        };
        let margin = margin(retention);
        let age = match now.duration_since(self.created) {
            Ok(age) => age,
            // The margin is for clocks too.
            Err(ahead) if ahead.duration() <= margin => Duration::ZERO,
            Err(_) => return Err(Why::ClockBehind),
        };
        match retention.saturating_sub(margin).saturating_sub(age) {
            Duration::ZERO => Err(Why::RetentionOver),
            left => Ok(left),
        }
    }

    fn is_secret(&self, name: &HeaderName, value: &HeaderValue) -> bool {
        self.key_header.as_ref() != Some(name) && (SECRETS.contains(name) || value.is_sensitive())
    }
}

/// For the way of the last attempt, and for clocks: as much as `idem-runtime` takes off with `expired_keys = "refuse"`.
fn margin(retention: Duration) -> Duration {
    (retention / 10).min(Duration::from_secs(5 * 60))
}

fn check(method: &Method, url: &Url) -> Result<(), NotSent> {
    match () {
        () if *method == Method::CONNECT => Err(NotSent::Method(method.clone())),
        () if !matches!(url.scheme(), "http" | "https") => Err(NotSent::Url),
        () if !url.username().is_empty() || url.password().is_some() => Err(NotSent::Credentials),
        () => Ok(()),
    }
}

/// RFC 9110, section 9.2.2: a method that is not idempotent is sent again under a key, or not at all.
fn needs_key(method: &Method) -> bool {
    !method.is_idempotent()
}

/// Whether the operation has a key now.
fn name_it(
    headers: &mut HeaderMap,
    method: &Method,
    keys: &Keys,
    key: Option<Key>,
) -> Result<bool, NotSent> {
    let own = headers.get_all(&keys.header).iter().count();
    match (own, key) {
        (0, Some(key)) => {
            headers.insert(&keys.header, key.written(keys.form)?);
            Ok(true)
        }
        (0, None) if !needs_key(method) => Ok(false),
        (0, None) => {
            headers.insert(&keys.header, Key::generate().written(keys.form)?);
            Ok(true)
        }
        (1, None) => {
            if let Some(value) = headers.get_mut(&keys.header) {
                readable(value)?;
                value.set_sensitive(true);
            }
            Ok(true)
        }
        _ => Err(NotSent::Keys),
    }
}

/// A key that the caller wrote is sent as it is, if it can be saved.
fn readable(value: &HeaderValue) -> Result<(), InvalidKey> {
    match value.to_str() {
        Err(_) => Err(InvalidKey::NotAscii),
        Ok(text) if text.trim().is_empty() => Err(InvalidKey::Empty),
        Ok(_) => Ok(()),
    }
}

/// Where it goes, without the query: neither key nor headers nor body.
impl fmt::Debug for PendingOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingOperation")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("has_key", &self.key_header.is_some())
            .field("created", &self.created)
            .field("may_have_arrived", &self.may_have_arrived)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
