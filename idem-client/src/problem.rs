//! What a server says about a refusal, as RFC 9457 has it, read leniently.
//!
//! Reading only: nothing here decides what it means.

use std::fmt;
use std::time::Duration;

use mime::Mime;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value};

/// Problem details (RFC 9457): the body of an answer with the media type `application/problem+json`.
///
/// A member that is absent, or is not what RFC 9457 or the server's contract says it is, is `None`; it does not spoil the others.
#[derive(Clone, PartialEq)]
pub struct Problem(Map<String, Value>);

impl Problem {
    /// The problem that an answer is, if it is one.
    pub(crate) fn of(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let media: Mime = headers.get(CONTENT_TYPE)?.to_str().ok()?.parse().ok()?;
        if media.essence_str() != "application/problem+json" {
            return None;
        }
        serde_json::from_slice(body).ok().map(Self)
    }

    /// The stable name of the problem: an extension member of `idem-runtime`, and of many others.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.text("code")
    }

    /// Whether the same request may be sent again with the same key: an extension member of `idem-runtime`.
    #[must_use]
    pub fn retryable(&self) -> Option<bool> {
        self.0.get("retryable")?.as_bool()
    }

    /// What to wait before that, in whole seconds: an extension member of `idem-runtime`.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.get("retry_after")?.as_u64().map(Duration::from_secs)
    }

    /// The URI of the kind of problem; RFC 9457 (section 3.1.1) takes `about:blank` where it is absent.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text("type").unwrap_or("about:blank")
    }

    /// The kind of problem in a few words.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.text("title")
    }

    /// This occurrence of it, for people.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.text("detail")
    }

    /// All members, as they came.
    #[must_use]
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.0.get(member)?.as_str()
    }
}

/// Its names only: what a server writes into the rest is not ours to print.
impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Problem")
            .field("code", &self.code())
            .field("retryable", &self.retryable())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn read(media: &str, body: &str) -> Option<Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(media).unwrap());
        Problem::of(&headers, body.as_bytes())
    }

    #[test]
    fn members_are_read_one_by_one() {
        let problem = read(
            "Application/Problem+JSON; charset=utf-8",
            r#"{"type":7,"code":"idempotency-in-flight","retryable":true,"retry_after":"soon","detail":"d","more":[1]}"#,
        )
        .unwrap();
        assert_eq!(problem.code(), Some("idempotency-in-flight"));
        assert_eq!(problem.retryable(), Some(true));
        assert_eq!(problem.retry_after(), None);
        assert_eq!((problem.kind(), problem.title()), ("about:blank", None));
        assert_eq!(problem.detail(), Some("d"));
        assert_eq!(problem.members()["more"], serde_json::json!([1]));
    }

    #[test]
    fn only_problem_json_is_a_problem() {
        assert_eq!(read("application/json", r#"{"retryable":true}"#), None);
        assert_eq!(read("application/problem+json", "[1]"), None);
        assert_eq!(read("application/problem+json", "{"), None);
        assert_eq!(read("no media type", "{}"), None);
        assert_eq!(Problem::of(&HeaderMap::new(), b"{}"), None);
    }

    #[test]
    fn what_it_says_of_somebody_is_not_printed() {
        let problem = read(
            "application/problem+json",
            r#"{"code":"c","detail":"of Ann"}"#,
        )
        .unwrap();
        let printed = format!("{problem:?}");
        assert!(
            printed.contains("\"c\"") && !printed.contains("Ann"),
            "{printed}"
        );
    }
}
