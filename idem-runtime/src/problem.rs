//! Every answer of ours, one constructor each, as RFC 9457 problem details.
//!
//! Answers only: nothing here decides which one is due. No answer holds a key, SQL, or another
//! caller's data.

mod code;

use std::fmt;
use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError};
use serde::Serialize;

use crate::key::KeyError;

pub use code::ProblemCode;

/// Where `type` URIs begin unless [`Builder::problem_base`](crate::Builder::problem_base) says otherwise.
pub const DEFAULT_BASE: &str = "urn:idem:problem:";

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// What a client is asked to wait before it sends the same request again, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 1;

/// One answer of ours.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    code: ProblemCode,
    status: StatusCode,
    detail: String,
    retryable: bool,
    retry_after: Option<u32>,
}

impl Problem {
    fn new(code: ProblemCode, status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            status,
            detail: detail.into(),
            retryable: code.retryable(),
            retry_after: None,
        }
    }

    fn retry_later(mut self) -> Self {
        self.retry_after = Some(RETRY_AFTER_SECONDS);
        self
    }

    /// For what must not be sent again blindly.
    pub(crate) fn without_retry(mut self) -> Self {
        self.retryable = false;
        self.retry_after = None;
        self
    }

    pub(crate) fn key(error: KeyError) -> Self {
        let code = match error {
            KeyError::Missing => ProblemCode::KeyMissing,
            _ => ProblemCode::KeyInvalid,
        };
        Self::new(code, StatusCode::BAD_REQUEST, error.to_string())
    }

    pub(crate) fn misconfigured() -> Self {
        Self::new(
            ProblemCode::Misconfigured,
            StatusCode::INTERNAL_SERVER_ERROR,
            "The endpoint's protection is not configured; the operation was not run.",
        )
    }

    pub(crate) fn scope_unresolved() -> Self {
        Self::new(
            ProblemCode::ScopeUnresolved,
            StatusCode::UNAUTHORIZED,
            "The request does not say who is asking.",
        )
    }

    pub(crate) fn request_too_large(limit: usize) -> Self {
        Self::new(
            ProblemCode::RequestTooLarge,
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("The body may have at most {limit} bytes."),
        )
    }

    pub(crate) fn key_reused() -> Self {
        Self::new(
            ProblemCode::KeyReused,
            StatusCode::UNPROCESSABLE_ENTITY,
            "The key was used for another request. A new operation needs a new key.",
        )
    }

    pub(crate) fn key_expired() -> Self {
        Self::new(
            ProblemCode::KeyExpired,
            StatusCode::GONE,
            "The key is so old that its first request may have been answered and forgotten. It was not run \
             now; find out whether it has been before you send it with a new key.",
        )
    }

    pub(crate) fn in_flight() -> Self {
        Self::new(
            ProblemCode::InFlight,
            StatusCode::CONFLICT,
            "The first request with this key is still running.",
        )
        .retry_later()
    }

    pub(crate) fn unresolved() -> Self {
        Self::new(
            ProblemCode::Unresolved,
            StatusCode::CONFLICT,
            "Nobody knows yet how the first request with this key ended; it is not run again until that is settled.",
        )
        .retry_later()
    }

    /// Nobody is driving it to its end, and a retry may.
    pub(crate) fn stranded() -> Self {
        let detail = "The first request was interrupted. Send it again with the same key.";
        Self::new(ProblemCode::Unresolved, StatusCode::CONFLICT, detail).retry_later()
    }

    /// It was begun by other code than this process has.
    pub(crate) fn changed() -> Self {
        let detail = "The first request was begun by another version of this service, and is held until \
                      that version is back or somebody has settled it.";
        Self::new(ProblemCode::Unresolved, StatusCode::CONFLICT, detail).retry_later()
    }

    pub(crate) fn operation_unknown() -> Self {
        Self::new(
            ProblemCode::OperationUnknown,
            StatusCode::NOT_FOUND,
            "There is no such operation, or it is somebody else's, or it is over and forgotten.",
        )
    }

    pub(crate) fn store_unavailable() -> Self {
        Self::new(
            ProblemCode::StoreUnavailable,
            StatusCode::SERVICE_UNAVAILABLE,
            "The operation's outcome cannot be looked up or confirmed right now.",
        )
        .retry_later()
    }

    pub(crate) fn handler_failed() -> Self {
        Self::new(
            ProblemCode::HandlerFailed,
            StatusCode::INTERNAL_SERVER_ERROR,
            "The operation failed and was rolled back.",
        )
    }

    /// What the handler wrote after its transaction had ended may have committed by itself.
    pub(crate) fn transaction_vanished() -> Self {
        Self::new(
            ProblemCode::HandlerFailed,
            StatusCode::INTERNAL_SERVER_ERROR,
            "The operation's transaction ended before the operation did; part of it may remain.",
        )
        .without_retry()
    }

    pub(crate) fn timed_out() -> Self {
        Self::new(
            ProblemCode::HandlerFailed,
            StatusCode::GATEWAY_TIMEOUT,
            "The operation took too long and was rolled back.",
        )
    }

    pub(crate) fn response_not_storable() -> Self {
        Self::new(
            ProblemCode::ResponseNotStorable,
            StatusCode::INTERNAL_SERVER_ERROR,
            "The operation's response cannot be stored; the operation was rolled back.",
        )
    }

    pub(crate) fn record_unreadable() -> Self {
        Self::new(
            ProblemCode::RecordUnreadable,
            StatusCode::INTERNAL_SERVER_ERROR,
            "The operation was done before, and what it answered cannot be read. It was not run again: do not send it \
             with a new key before it is known what it did.",
        )
    }

    /// In lease mode: it is held until somebody has settled it.
    pub(crate) fn progress_unreadable() -> Self {
        let mut problem = Self::record_unreadable();
        problem.detail = "The operation was begun before, and what it has done so far cannot be read. It was not run again; do \
                          not send it with a new key before it is known what it did."
            .to_owned();
        problem
    }

    pub(crate) fn code(&self) -> ProblemCode {
        self.code
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// In lease mode nothing is rolled back but the step that was running.
    pub(crate) fn in_lease_mode(mut self) -> Self {
        self.detail = match self.code {
            ProblemCode::ResponseNotStorable => "The operation's response cannot be stored.",
            _ if self.status == StatusCode::GATEWAY_TIMEOUT => "The operation took too long.",
            _ => "The operation failed.",
        }
        .to_owned();
        self
    }

    /// What is said in the body, with `type` URIs under `base`.
    pub(crate) fn details(&self, base: &str) -> Details<'_> {
        let code = self.code.as_str();
        Details {
            r#type: format!("{base}{code}"),
            title: self.code.title(),
            status: self.status.as_u16(),
            detail: &self.detail,
            code,
            retryable: self.retryable,
            retry_after: self.retry_after,
        }
    }

    /// The answer, with `type` URIs under `base`.
    pub(crate) fn respond(&self, base: &str) -> HttpResponse {
        let body = self.details(base);
        let mut response = HttpResponseBuilder::new(self.status);
        response.insert_header((CONTENT_TYPE, MEDIA_TYPE));
        if let Some(seconds) = self.retry_after {
            response.insert_header((RETRY_AFTER, seconds));
        }
        response.body(serde_json::to_vec(&body).unwrap_or_default())
    }
}

/// RFC 9457, section 3.1, and our extension members.
#[derive(Serialize)]
pub(crate) struct Details<'a> {
    r#type: String,
    pub(crate) title: &'static str,
    pub(crate) status: u16,
    pub(crate) detail: &'a str,
    pub(crate) code: &'static str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<u32>,
}

/// What the `type` URIs of this request's problems begin with, in its extensions.
#[derive(Debug, Clone)]
pub(crate) struct Base(pub(crate) Arc<str>);

/// A problem as an actix error, for our extractors.
#[derive(Debug)]
pub struct ProblemError {
    problem: Problem,
    base: Base,
}

impl ProblemError {
    pub(crate) fn new(problem: Problem, request: &HttpRequest) -> Self {
        let base = request.extensions().get::<Base>().cloned();
        Self {
            problem,
            base: base.unwrap_or_else(|| Base(DEFAULT_BASE.into())),
        }
    }
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem.code.as_str())
    }
}

impl std::error::Error for ProblemError {}

impl ResponseError for ProblemError {
    fn status_code(&self) -> StatusCode {
        self.problem.status
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        self.problem.respond(&self.base.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn an_answer_is_problem_json_with_our_members() {
        let response = Problem::in_flight().respond("https://api.example/problems/");
        assert_eq!(response.status(), StatusCode::CONFLICT);
        assert_eq!(response.headers().get(RETRY_AFTER).unwrap(), "1");
        assert_eq!(
            response.headers().get(CONTENT_TYPE).unwrap(),
            "application/problem+json"
        );
        let body = actix_web::body::to_bytes(response.into_body())
            .await
            .unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            body,
            serde_json::json!({
                "type": "https://api.example/problems/idempotency-in-flight",
                "title": "Request in flight",
                "status": 409,
                "detail": "The first request with this key is still running.",
                "code": "idempotency-in-flight",
                "retryable": true,
                "retry_after": 1,
            })
        );
    }
}
