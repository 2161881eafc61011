//! One answer, read whole: what a caller gets to see of it.
//!
//! Reading only: what it means for the operation is the verdict's.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use crate::retry_after::retry_after;

/// An answer of the server, with its whole body.
#[derive(Clone)]
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    is_replayed: bool,
    problem: Option<Problem>,
}

impl Answer {
    pub(crate) fn new(
        status: StatusCode,
        headers: HeaderMap,
        body: Bytes,
        replayed_header: &HeaderName,
    ) -> Self {
        let is_error = status.is_client_error() || status.is_server_error();
        Self {
            is_replayed: headers
                .get(replayed_header)
                .is_some_and(|value| says_yes(value.as_bytes())),
            problem: if is_error {
                Problem::of(&headers, &body)
            } else {
                None
            },
            status,
            headers,
            body,
        }
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Its headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Its body, as JSON.
    ///
    /// # Errors
    ///
    /// It is no JSON, or not what is asked for.
    pub fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }

    /// Whether the server says that it is the answer of an earlier attempt: `Idempotent-Replayed: true`, or `?1`. Treat such an
    /// answer like any other. A server that does not mark its replays says nothing, and this is `false`.
    #[must_use]
    pub fn replayed(&self) -> bool {
        self.is_replayed
    }

    /// What it says about a refusal or a failure (RFC 9457), if its status is 400 or above and it says so.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// What the server asks to wait: `Retry-After`, else the problem's `retry_after`.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers, SystemTime::now())
            .or_else(|| self.problem.as_ref().and_then(Problem::retry_after))
    }

    /// Whether it looks like what `idem-runtime` answers to a duplicate under `in_flight = "accept"`: 202 with `Location` and
    /// `Retry-After`, and nothing else.
    pub(crate) fn may_be_of_a_duplicate(&self) -> bool {
        self.status == StatusCode::ACCEPTED
            && !self.is_replayed
            && self.body.is_empty()
            && [LOCATION, RETRY_AFTER]
                .iter()
                .all(|name| self.headers.contains_key(name))
    }
}

/// The spelling of most servers, or a Boolean of RFC 9651.
fn says_yes(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    value.eq_ignore_ascii_case(b"true") || value == b"?1"
}

/// Neither its body nor its headers.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("replayed", &self.is_replayed)
            .field("problem", &self.problem)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_is_read_in_both_spellings() {
        for yes in [&b"true"[..], b"True", b" true ", b"?1"] {
            assert!(says_yes(yes), "{yes:?}");
        }
        for no in [&b"false"[..], b"?0", b"", b"1", b"true, true"] {
            assert!(!says_yes(no), "{no:?}");
        }
    }
}
