//! An answer of the service under proof, taken apart, and how two of them differ.
//!
//! No rules.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::body::{MessageBody, to_bytes};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_LOCATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
    LOCATION, RETRY_AFTER,
};
use actix_web::web::Bytes;

use crate::problem::ProblemCode;
use crate::redact::redacted;

/// How much of a body stands in a report.
const EXCERPT: usize = 80;

/// Fields about what was done and how it is written (RFC 9110, sections 8 and 10.2.2). No middleware sets them anew.
const OF_THE_RECORD: [HeaderName; 5] = [
    LOCATION,
    CONTENT_LOCATION,
    CONTENT_TYPE,
    ETAG,
    LAST_MODIFIED,
];

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Bytes,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("no answer: the service panicked")]
    Panicked,
    #[error("the body of the answer broke off: {0}")]
    BrokeOff(#[source] Box<dyn std::error::Error>),
}

impl Answer {
    pub(super) async fn of<B: MessageBody>(response: HttpResponse<B>) -> Result<Self, NoAnswer> {
        let status = response.status();
        let headers = response.headers().clone();
        let body = to_bytes(response.into_body()).await;
        Ok(Self {
            status,
            headers,
            body: body.map_err(|error| NoAnswer::BrokeOff(error.into()))?,
        })
    }

    pub(super) fn has_succeeded(&self) -> bool {
        self.status.as_u16() < 400
    }

    pub(super) fn is_marked(&self, marker: &HeaderName) -> bool {
        self.headers.contains_key(marker)
    }

    pub(super) fn asks_to_wait(&self) -> bool {
        self.headers.contains_key(RETRY_AFTER)
    }

    /// Whether it is our problem of this code.
    pub(super) fn is(&self, code: ProblemCode) -> bool {
        self.problem()["code"] == code.as_str()
    }

    /// The body as problem details, or null.
    fn problem(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The status, and the code of a problem or how the body begins.
    pub(super) fn in_short(&self) -> String {
        let status = self.status.as_u16();
        match self.problem()["code"].as_str() {
            Some(code) if !self.has_succeeded() => format!("{status} `{code}`"),
            _ if self.body.is_empty() => status.to_string(),
            _ => format!("{status} with {}", excerpt(&self.body, 0)),
        }
    }

    /// The same without the values at these JSON pointers, if there are any.
    pub(super) fn without(&self, pointers: &[&str]) -> Cow<'_, Self> {
        match redacted(&self.body, pointers) {
            Ok(Some(body)) => Cow::Owned(Self {
                body: body.into(),
                ..self.clone()
            }),
            _ => Cow::Borrowed(self),
        }
    }

    /// In what this is another answer than the first one, if it is; these fields do not count.
    pub(super) fn difference_from(&self, first: &Self, ignored: &[HeaderName]) -> Option<String> {
        if self.status != first.status {
            let (first, this) = (first.in_short(), self.in_short());
            return Some(format!("the first answer was {first}, this one is {this}"));
        }
        let names = first.headers.keys().chain(self.headers.keys());
        let mut names: Vec<_> = names.filter(|name| !ignored.contains(name)).collect();
        names.sort_by_key(|name| name.as_str());
        if let Some(name) = names.into_iter().find(|name| {
            let values = |answer: &Self| values(&answer.headers, name);
            values(first) != values(self)
        }) {
            let (first, this) = (shown(&first.headers, name), shown(&self.headers, name));
            return Some(format!("`{name}` was {first} at first, and is {this}"));
        }
        let at = difference(&first.body, &self.body)?;
        let (first, this) = (excerpt(&first.body, at), excerpt(&self.body, at));
        Some(format!(
            "the body differs at byte {at}: {first} at first, and now {this}"
        ))
    }
}

/// The fields in which replays of one key differ from one another: they are not from its record.
pub(super) fn unsettled(replays: &[Answer]) -> Vec<HeaderName> {
    let names = replays.iter().flat_map(|replay| replay.headers.keys());
    let mut names: Vec<_> = names
        .filter(|name| !OF_THE_RECORD.contains(name))
        .filter(|name| {
            let mut all = replays.iter().map(|replay| values(&replay.headers, name));
            let first = all.next();
            all.any(|values| Some(values) != first)
        })
        .cloned()
        .collect();
    names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    names.dedup();
    names
}

fn values(headers: &HeaderMap, name: &HeaderName) -> Vec<HeaderValue> {
    headers.get_all(name).cloned().collect()
}

fn shown(headers: &HeaderMap, name: &HeaderName) -> String {
    let mut text = String::new();
    for value in headers.get_all(name) {
        let separator = if text.is_empty() { "" } else { ", " };
        // A String takes all that is written.
        let _ = write!(text, "{separator}{value:?}");
    }
    if text.is_empty() {
        text.push_str("absent");
    }
    text
}

/// Where the first byte is that is not the same in both.
fn difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let both = one.iter().zip(other);
    let differing = both.take_while(|(one, other)| one == other).count();
    (one.len() != other.len() || differing < one.len()).then_some(differing)
}

/// From a little before that byte on.
fn excerpt(body: &[u8], at: usize) -> String {
    let begin = at.saturating_sub(EXCERPT / 4).min(body.len());
    let end = (begin + EXCERPT).min(body.len());
    let dots = |more: bool| if more { "…" } else { "" };
    let text = String::from_utf8_lossy(&body[begin..end]);
    format!("{}{text:?}{}", dots(begin > 0), dots(end < body.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: map,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    #[test]
    fn status_headers_and_body_are_compared_to_the_byte() {
        let first = answer(201, &[("link", "a"), ("link", "b"), ("date", "x")], "one");
        let ignored = [HeaderName::from_static("date")];
        let difference = |other: Answer| other.difference_from(&first, &ignored);
        let same = answer(201, &[("date", "y"), ("link", "a"), ("link", "b")], "one");
        assert_eq!(difference(same), None);
        for (other, expected) in [
            (
                answer(200, &[], "one"),
                "the first answer was 201 with \"one\", this one is 200 with \"one\"",
            ),
            (
                answer(201, &[("link", "b"), ("link", "a")], "one"),
                "`link` was \"a\", \"b\" at first, and is \"b\", \"a\"",
            ),
            (
                answer(201, &[("link", "a"), ("link", "b"), ("etag", "1")], "one"),
                "`etag` was absent at first, and is \"1\"",
            ),
            (
                answer(201, &[("link", "a"), ("link", "b")], "ono"),
                "the body differs at byte 2: \"one\" at first, and now \"ono\"",
            ),
            (
                answer(201, &[("link", "a"), ("link", "b")], "one\n"),
                "the body differs at byte 3: \"one\" at first, and now \"one\\n\"",
            ),
        ] {
            assert_eq!(difference(other).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_is_left_out_of_a_record_is_left_out_of_the_answer() {
        let first = answer(201, &[], r#"{"a": 1, "b": 2}"#);
        let recorded = first.without(&["/b", "/c"]);
        assert!(matches!(recorded, Cow::Owned(_)));
        assert_eq!(recorded.body, r#"{"a": 1, "b": "[redacted]"}"#.as_bytes());
        assert!(matches!(first.without(&["/c"]), Cow::Borrowed(_)));
        let text = answer(201, &[], "no JSON");
        assert!(matches!(text.without(&["/b"]), Cow::Borrowed(_)));
    }

    #[test]
    fn a_field_that_differs_between_replays_is_not_from_the_record_unless_it_is_about_what_was_done()
     {
        let replay = |number| {
            answer(
                201,
                &[("x-number", number), ("location", number), ("x-same", "a")],
                "one",
            )
        };
        let bare = answer(201, &[("x-same", "a")], "one");
        let number = HeaderName::from_static("x-number");
        assert_eq!(unsettled(&[]), Vec::<HeaderName>::new());
        assert_eq!(unsettled(&[replay("1")]), Vec::<HeaderName>::new());
        assert_eq!(
            unsettled(&[replay("1"), replay("1")]),
            Vec::<HeaderName>::new()
        );
        let last = [replay("1"), replay("1"), replay("2")];
        assert_eq!(unsettled(&last), std::slice::from_ref(&number));
        assert_eq!(unsettled(&[bare, replay("1")]), [number]);
    }

    #[test]
    fn an_excerpt_is_cut_at_both_ends() {
        let body = "0123456789".repeat(30);
        let text = excerpt(body.as_bytes(), 200);
        assert!(
            text.starts_with("…\"0123") && text.ends_with("9\"…"),
            "{text}"
        );
        assert!(text.len() < 100, "{text}");
    }
}
