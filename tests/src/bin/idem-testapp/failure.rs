//! The handlers' error: a scripted one, or the database's.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use idem_runtime::Retry;

use crate::script::Script;

#[derive(Debug)]
pub(crate) enum Failure {
    Scripted(Script),
    Database(diesel::result::Error),
    Conflict(Retry),
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
        }
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Scripted(script) => script.error_status(),
            Self::Database(_) | Self::Conflict(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Scripted(script) => script.error_response(),
            Self::Database(error) => HttpResponse::InternalServerError().body(error.to_string()),
            Self::Conflict(retry) => retry.error_response(),
        }
    }
}
