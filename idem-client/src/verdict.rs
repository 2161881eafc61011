//! What an answer, or the lack of one, means for the operation. The one place that decides it.
//!
//! A pure function: no I/O, no clock, no counting of attempts.

use reqwest::{Method, StatusCode};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::outcome::Why;
use crate::problem::Problem;

const KEY_EXPIRED: &str = "idempotency-key-expired";

/// What to do after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The operation is done, by this attempt or an earlier one.
    Done,
    /// The server's answer to the operation is no.
    Refused,
    /// The same request with the same key, after a pause.
    Again(Effect),
    /// No attempt more, and nobody knows.
    Stop(Why),
}

/// What the attempt may have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It did not reach the operation.
    None,
    /// It may be done.
    Possible,
}

/// What is known of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    method: &'a Method,
    status: StatusCode,
    is_replayed: bool,
    problem: Option<&'a Problem>,
    may_be_of_a_duplicate: bool,
}

impl<'a> Seen<'a> {
    /// An answer to a request of this method.
    pub(crate) fn of(answer: &'a Answer, method: &'a Method) -> Self {
        Self {
            method,
            status: answer.status(),
            is_replayed: answer.replayed(),
            problem: answer.problem(),
            may_be_of_a_duplicate: answer.may_be_of_a_duplicate(),
        }
    }
}

/// After an answer. `earlier`: whether an attempt before this one may have had its effect.
pub(crate) fn of_answer(seen: Seen<'_>, earlier: bool) -> Verdict {
    if seen.is_replayed {
        return recorded(seen.status);
    }
    let code = seen.problem.and_then(Problem::code);
    let retryable = seen.problem.and_then(Problem::retryable);
    match seen.status.as_u16() {
        202 if seen.may_be_of_a_duplicate && earlier => Verdict::Again(Effect::Possible),
        200..=299 => Verdict::Done,
        // RFC 9110, section 15.4.5: it is for these two.
        304 if matches!(*seen.method, Method::GET | Method::HEAD) => Verdict::Done,
        // 303 too: it may be the answer to a form (RFC 9110, section 15.4.4), and it may lead to a login.
        ..=399 => Verdict::Stop(Why::Redirected),
        410 if code == Some(KEY_EXPIRED) => Verdict::Stop(Why::KeyExpired),
        409 if retryable == Some(true) => Verdict::Again(Effect::Possible),
        // 408: the server did not get the whole request, or gave the handler up. 429: whoever said it, steps that the handler
        // had finished by then stay.
        408 | 429 if retryable != Some(false) => Verdict::Again(Effect::Possible),
        // RFC 8470, section 5.2: said of early data, which was not processed.
        425 if retryable != Some(false) => Verdict::Again(Effect::None),
        // It will not know the method, or the version of HTTP, at the next attempt either.
        501 | 505 if retryable != Some(true) => refused(seen.method, earlier),
        500.. if retryable == Some(false) => Verdict::Stop(Why::ServerError),
        500.. => Verdict::Again(Effect::Possible),
        _ => refused(seen.method, earlier),
    }
}

/// What an attempt may have done that brought no whole answer. It is always worth another one.
pub(crate) fn of_failure(failure: &Failure) -> Effect {
    match failure {
        Failure::Connect(_) => Effect::None,
        _ => Effect::Possible,
    }
}

/// It will be the same at every attempt.
fn recorded(status: StatusCode) -> Verdict {
    match status.as_u16() {
        ..=399 => Verdict::Done,
        400..=499 => Verdict::Refused,
        _ => Verdict::Stop(Why::ServerError),
    }
}

/// A refusal says something of its own attempt only. Behind one that may be done it can come from a login or a limit in front of
/// the look for the key, from a server that answers 409 to what is still running and says no more (section 2.7 of the draft), or
/// from the effect itself (412: `If-Match` no longer does). None of that is told from a refusal of the operation, whatever the status
/// and the code; only the mark of a replay is. A safe method (RFC 9110, section 9.2.1) has no effect to be in doubt about.
fn refused(method: &Method, earlier: bool) -> Verdict {
    match earlier && !method.is_safe() {
        true => Verdict::Stop(Why::RefusedLater),
        false => Verdict::Refused,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

    use super::Effect::{None as NoEffect, Possible};
    use super::Verdict::{Again, Done, Refused, Stop};
    use super::*;

    /// The members of a problem, or nothing.
    type Says = Option<&'static str>;

    const IN_FLIGHT: Says = Some(r#"{"code":"idempotency-in-flight","retryable":true}"#);
    const YES: Says = Some(r#"{"retryable":true}"#);
    const NO: Says = Some(r#"{"retryable":false}"#);
    const ABOUT_STOCK: Says = Some(r#"{"code":"out-of-stock"}"#);
    const EXPIRED: Says = Some(r#"{"code":"idempotency-key-expired","retryable":false}"#);
    const REUSED: Says = Some(r#"{"code":"idempotency-key-reused","retryable":false}"#);
    const UNREADABLE: Says = Some(r#"{"code":"idempotency-record-unreadable","retryable":false}"#);
    const MISSING: Says = Some(r#"{"code":"idempotency-key-missing","retryable":false}"#);

    fn answer(status: u16, problem: Says, is_replayed: bool) -> Answer {
        let mut headers = HeaderMap::new();
        let marker = HeaderName::from_static("idempotent-replayed");
        if is_replayed {
            headers.insert(&marker, HeaderValue::from_static("true"));
        }
        if problem.is_some() {
            headers.insert(
                CONTENT_TYPE,
                HeaderValue::from_static("application/problem+json"),
            );
        }
        let status = StatusCode::from_u16(status).unwrap();
        let body = problem.unwrap_or("anything").as_bytes();
        Answer::new(status, headers, body.into(), &marker)
    }

    fn verdict(status: u16, problem: Says, earlier: bool) -> Verdict {
        judged(&Method::POST, &answer(status, problem, false), earlier)
    }

    fn judged(method: &Method, answer: &Answer, earlier: bool) -> Verdict {
        of_answer(Seen::of(answer, method), earlier)
    }

    /// Status, problem, what it means at the first attempt, and where an earlier one may have had its effect.
    const TABLE: &[(u16, Says, Verdict, Verdict)] = &[
        (200, None, Done, Done),
        (201, None, Done, Done),
        (202, None, Done, Done),
        (204, None, Done, Done),
        (300, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (301, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (302, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (303, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (304, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (307, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (308, None, Stop(Why::Redirected), Stop(Why::Redirected)),
        (400, None, Refused, Stop(Why::RefusedLater)),
        (400, YES, Refused, Stop(Why::RefusedLater)),
        (400, MISSING, Refused, Stop(Why::RefusedLater)),
        (401, None, Refused, Stop(Why::RefusedLater)),
        (401, YES, Refused, Stop(Why::RefusedLater)),
        (402, None, Refused, Stop(Why::RefusedLater)),
        (403, None, Refused, Stop(Why::RefusedLater)),
        (403, YES, Refused, Stop(Why::RefusedLater)),
        (404, None, Refused, Stop(Why::RefusedLater)),
        (405, None, Refused, Stop(Why::RefusedLater)),
        (408, None, Again(Possible), Again(Possible)),
        (408, NO, Refused, Stop(Why::RefusedLater)),
        (409, None, Refused, Stop(Why::RefusedLater)),
        (409, ABOUT_STOCK, Refused, Stop(Why::RefusedLater)),
        (409, NO, Refused, Stop(Why::RefusedLater)),
        (409, IN_FLIGHT, Again(Possible), Again(Possible)),
        (409, YES, Again(Possible), Again(Possible)),
        (410, None, Refused, Stop(Why::RefusedLater)),
        (410, EXPIRED, Stop(Why::KeyExpired), Stop(Why::KeyExpired)),
        (412, None, Refused, Stop(Why::RefusedLater)),
        (413, None, Refused, Stop(Why::RefusedLater)),
        (415, None, Refused, Stop(Why::RefusedLater)),
        (422, None, Refused, Stop(Why::RefusedLater)),
        (422, YES, Refused, Stop(Why::RefusedLater)),
        (422, REUSED, Refused, Stop(Why::RefusedLater)),
        (423, YES, Refused, Stop(Why::RefusedLater)),
        (425, None, Again(NoEffect), Again(NoEffect)),
        (425, YES, Again(NoEffect), Again(NoEffect)),
        (429, None, Again(Possible), Again(Possible)),
        (429, YES, Again(Possible), Again(Possible)),
        (429, NO, Refused, Stop(Why::RefusedLater)),
        (499, None, Refused, Stop(Why::RefusedLater)),
        (500, None, Again(Possible), Again(Possible)),
        (500, YES, Again(Possible), Again(Possible)),
        (500, NO, Stop(Why::ServerError), Stop(Why::ServerError)),
        (
            500,
            UNREADABLE,
            Stop(Why::ServerError),
            Stop(Why::ServerError),
        ),
        (501, None, Refused, Stop(Why::RefusedLater)),
        (501, YES, Again(Possible), Again(Possible)),
        (502, None, Again(Possible), Again(Possible)),
        (503, YES, Again(Possible), Again(Possible)),
        (503, NO, Stop(Why::ServerError), Stop(Why::ServerError)),
        (504, None, Again(Possible), Again(Possible)),
        (505, None, Refused, Stop(Why::RefusedLater)),
        (511, None, Again(Possible), Again(Possible)),
        (599, None, Again(Possible), Again(Possible)),
    ];

    #[test]
    fn every_row_of_the_table() {
        for (status, problem, first, later) in TABLE {
            assert_eq!(
                verdict(*status, *problem, false),
                *first,
                "{status} {problem:?} first"
            );
            assert_eq!(
                verdict(*status, *problem, true),
                *later,
                "{status} {problem:?} later"
            );
        }
    }

    #[test]
    fn what_the_issue_rules_out_is_never_sent_again() {
        for status in [400, 401, 403, 422] {
            for problem in [None, YES, NO, IN_FLIGHT, REUSED] {
                for earlier in [false, true] {
                    let verdict = verdict(status, problem, earlier);
                    assert!(
                        !matches!(verdict, Again(_)),
                        "{status} {problem:?}: {verdict:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_record_is_the_last_word() {
        for earlier in [false, true] {
            for (status, meaning) in [
                (200, Done),
                (302, Done),
                (303, Done),
                (304, Done),
                (307, Done),
                (401, Refused),
                (409, Refused),
                (429, Refused),
                (500, Stop(Why::ServerError)),
                (503, Stop(Why::ServerError)),
            ] {
                let answer = answer(status, None, true);
                let verdict = judged(&Method::POST, &answer, earlier);
                assert_eq!(verdict, meaning, "{status}");
            }
        }
        let claims = answer(409, YES, true);
        assert_eq!(judged(&Method::POST, &claims, true), Refused);
    }

    /// Whatever the server calls it: there is no status and no code that says what became of the attempt before.
    #[test]
    fn behind_an_attempt_that_may_be_done_no_4xx_is_believed() {
        let put = Method::PUT;
        for status in 400..=499 {
            for problem in [None, YES, NO, ABOUT_STOCK, REUSED, MISSING] {
                for method in [&Method::POST, &Method::PATCH, &put] {
                    let verdict = judged(method, &answer(status, problem, false), true);
                    assert!(
                        matches!(verdict, Stop(Why::RefusedLater) | Again(_)),
                        "{method} {status} {problem:?}: {verdict:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_only_reads_is_refused_or_not_modified_whatever_came_before() {
        for method in [Method::GET, Method::HEAD] {
            for earlier in [false, true] {
                let of = |status| judged(&method, &answer(status, None, false), earlier);
                assert_eq!((of(404), of(401), of(412)), (Refused, Refused, Refused));
                assert_eq!((of(304), of(303)), (Done, Stop(Why::Redirected)));
            }
        }
        let removed = judged(&Method::DELETE, &answer(404, None, false), true);
        assert_eq!(removed, Stop(Why::RefusedLater));
    }

    #[test]
    fn a_202_for_a_duplicate_is_not_the_end() {
        let mut headers = HeaderMap::new();
        headers.insert("location", HeaderValue::from_static("/operations/1"));
        headers.insert("retry-after", HeaderValue::from_static("1"));
        let marker = HeaderName::from_static("idempotent-replayed");
        let of = |headers: &HeaderMap, body: &'static str, earlier| {
            let answer = Answer::new(StatusCode::ACCEPTED, headers.clone(), body.into(), &marker);
            judged(&Method::POST, &answer, earlier)
        };
        assert_eq!(of(&headers, "", true), Again(Possible));
        // Nobody can have come before: it is the handler's own.
        assert_eq!(of(&headers, "", false), Done);
        assert_eq!(of(&headers, "queued", true), Done);
        let mut marked = headers.clone();
        marked.insert(&marker, HeaderValue::from_static("true"));
        assert_eq!(of(&marked, "", true), Done);
        headers.remove("location");
        assert_eq!(of(&headers, "", true), Done);
    }

    #[test]
    fn what_was_not_answered_in_time_may_be_done() {
        assert_eq!(of_failure(&Failure::Timeout), Possible);
    }
}
