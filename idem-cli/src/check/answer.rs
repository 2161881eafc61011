//! An answer as it came, and how it differs from another one. Knows no rule of a profile.

use std::time::Instant;

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// What a replay may have otherwise, or not at all: of the connection, of the moment, or not to be said twice
/// (README, "What is recorded").
const INCOMPARABLE: [&str; 14] = [
    "authentication-info",
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "www-authenticate",
];
const EXCERPT: usize = 60;

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) at: Instant,
}

/// How two answers are compared.
pub(super) struct Comparison<'a> {
    /// Byte for byte, headers too. Otherwise status and body, JSON by its value.
    pub(super) is_exact: bool,
    pub(super) ignored: &'a [HeaderName],
    /// Show what differs, and not only where.
    pub(super) show: bool,
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Headers in which two replays of one answer differ, and which say nothing of what was done.
    pub(super) fn volatile(&self, other: &Self) -> Vec<HeaderName> {
        let is_kept = |name: &str| {
            matches!(name, "location" | "etag" | "link") || name.starts_with("content-")
        };
        let mut names: Vec<_> = other.headers.keys().chain(self.headers.keys()).collect();
        names.sort_by_key(|name| name.as_str());
        names.dedup();
        names.retain(|name| {
            !is_kept(name.as_str())
                && !INCOMPARABLE.contains(&name.as_str())
                && self.lines(name) != other.lines(name)
        });
        names.into_iter().cloned().collect()
    }

    /// All that is said in headers of this name.
    fn lines(&self, name: &HeaderName) -> Vec<&HeaderValue> {
        self.headers.get_all(name).iter().collect()
    }

    /// Its body, if it is a problem of RFC 9457.
    pub(super) fn problem(&self) -> Option<Value> {
        let kind = self.headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let kind = kind.split(';').next()?.trim();
        kind.eq_ignore_ascii_case("application/problem+json")
            .then(|| serde_json::from_slice(&self.body).ok())?
    }

    /// The first difference from what was answered first.
    pub(super) fn difference(&self, first: &Self, how: &Comparison<'_>) -> Option<String> {
        if self.status != first.status {
            return Some(format!(
                "the status was {} first and is {} now",
                first.status, self.status
            ));
        }
        if how.is_exact {
            self.differing_header(first, how)
                .or_else(|| self.differing_body(first, how))
        } else if is_same_value(&self.body, &first.body) {
            None
        } else {
            self.differing_body(first, how)
        }
    }

    fn differing_header(&self, first: &Self, how: &Comparison<'_>) -> Option<String> {
        let mut names: Vec<_> = first.headers.keys().chain(self.headers.keys()).collect();
        names.sort_by_key(|name| name.as_str());
        names.dedup();
        let name = names.into_iter().find(|name| {
            !INCOMPARABLE.contains(&name.as_str())
                && !how.ignored.contains(name)
                && self.lines(name) != first.lines(name)
        })?;
        let (before, now) = (first.lines(name), self.lines(name));
        let shown = match how.show {
            true => format!(": {before:?} first, {now:?} now"),
            false => String::new(),
        };
        let what = match (before.is_empty(), now.is_empty()) {
            (_, true) => "is missing",
            (true, _) => "is new",
            _ => "is another one",
        };
        Some(format!("the header {name} {what}{shown}"))
    }

    fn differing_body(&self, first: &Self, how: &Comparison<'_>) -> Option<String> {
        if self.body == first.body {
            return None;
        }
        let pairs = self.body.iter().zip(first.body.iter());
        let at = pairs.take_while(|(now, before)| now == before).count();
        let sizes = format!("{} bytes first, {} now", first.body.len(), self.body.len());
        let shown = match how.show {
            true => format!(
                ": {} first, {} now",
                excerpt(&first.body, at),
                excerpt(&self.body, at)
            ),
            false => String::new(),
        };
        Some(format!(
            "the body is another one from byte {} on ({sizes}){shown}",
            at + 1
        ))
    }
}

fn is_same_value(one: &[u8], other: &[u8]) -> bool {
    let value = |body| serde_json::from_slice::<Value>(body);
    one == other || matches!((value(one), value(other)), (Ok(one), Ok(other)) if one == other)
}

/// What stands there, a little in front of it included.
fn excerpt(body: &[u8], at: usize) -> String {
    let from = at.saturating_sub(EXCERPT / 3);
    let to = body.len().min(from + EXCERPT);
    format!(
        "{:?}",
        String::from_utf8_lossy(body.get(from..to).unwrap_or_default())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&'static str, &'static str)], body: &'static str) -> Answer {
        let mut lines = HeaderMap::new();
        for (name, value) in headers {
            lines.append(*name, HeaderValue::from_static(value));
        }
        Answer {
            status: 201,
            headers: lines,
            body: Bytes::from_static(body.as_bytes()),
            at: Instant::now(),
        }
    }

    fn compared(first: &Answer, now: &Answer, is_exact: bool, show: bool) -> Option<String> {
        let ignored = [HeaderName::from_static("x-run")];
        let how = Comparison {
            is_exact,
            ignored: &ignored,
            show,
        };
        now.difference(first, &how)
    }

    #[test]
    fn repeated_headers_are_compared_in_their_order() {
        let first = answer(
            &[("link", "a"), ("date", "1"), ("link", "b"), ("x-run", "1")],
            "",
        );
        let same = answer(&[("x-run", "2"), ("link", "a"), ("link", "b")], "");
        assert_eq!(compared(&first, &same, true, false), None);
        let turned = answer(&[("link", "b"), ("link", "a")], "");
        let difference = compared(&first, &turned, true, false).unwrap();
        assert_eq!(difference, "the header link is another one");
        let difference = compared(&first, &answer(&[], ""), true, true).unwrap();
        assert!(
            difference.starts_with("the header link is missing: ["),
            "{difference}"
        );
        assert_eq!(compared(&first, &turned, false, false), None);
    }

    #[test]
    fn a_body_is_shown_only_where_it_is_asked_for() {
        let (first, now) = (
            answer(&[], r#"{"a": "secret"}"#),
            answer(&[], r#"{"a":"secret"}"#),
        );
        assert_eq!(compared(&first, &now, false, false), None);
        let hidden = compared(&first, &now, true, false).unwrap();
        assert_eq!(
            hidden,
            "the body is another one from byte 6 on (15 bytes first, 14 now)"
        );
        assert!(
            compared(&first, &now, true, true)
                .unwrap()
                .contains("secret")
        );
    }
}
