//! The handlers' error: a scripted one, or the database's.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use idem_runtime::outbox::EnqueueError;
use idem_runtime::pool::LendError;
use idem_runtime::{Retry, StepError};

use crate::script::Script;

#[derive(Debug)]
pub(crate) enum Failure {
    Scripted(Box<Script>),
    Database(diesel::result::Error),
    Conflict(Retry),
    /// Where nothing protects, and in lease mode, the pool is the handler's own affair.
    Pool(LendError),
    /// The outside world did not answer.
    Outside(Box<dyn std::error::Error>),
    Step(StepError),
    Queue(EnqueueError),
    /// The response's own body failed.
    Body(Box<dyn std::error::Error>),
}

impl From<LendError> for Failure {
    fn from(error: LendError) -> Self {
        Self::Pool(error)
    }
}

impl From<EnqueueError> for Failure {
    fn from(error: EnqueueError) -> Self {
        Self::Queue(error)
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl From<diesel::result::Error> for Failure {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scripted(script) => write!(f, "the script of {} says so", script.label),
            Self::Database(error) => error.fmt(f),
            Self::Conflict(retry) => retry.fmt(f),
            Self::Pool(error) => error.fmt(f),
            Self::Outside(error) | Self::Body(error) => error.fmt(f),
            Self::Step(error) => error.fmt(f),
            Self::Queue(error) => error.fmt(f),
        }
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Scripted(script) => script.error_status(),
            Self::Database(_) | Self::Conflict(_) | Self::Body(_) | Self::Queue(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Pool(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Outside(_) => StatusCode::BAD_GATEWAY,
            Self::Step(error) => error.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Scripted(script) => script.error_response(),
            Self::Database(_)
            | Self::Pool(_)
            | Self::Outside(_)
            | Self::Body(_)
            | Self::Queue(_) => HttpResponse::build(self.status_code()).body(self.to_string()),
            Self::Conflict(retry) => retry.error_response(),
            Self::Step(error) => error.error_response(),
        }
    }
}
