//! The error by which a handler asks to be run again.

use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};

use crate::problem::{DEFAULT_BASE, Problem};
use crate::transaction::is_conflict;

/// Asks for the operation to be run again in a new transaction.
///
/// A handler returns it when a statement of its own was refused because of concurrent transactions
/// (a serialization failure, a deadlock) and it has touched nothing outside the database. The
/// transaction is rolled back and the handler run again, at most `retries` times; after that, or
/// without `retries`, the client gets 500 and may send the request again.
///
/// Where a handler has its own error type, the error's `error_response()` must be this one's.
///
/// # Examples
///
/// ```
/// use actix_web::{HttpResponse, ResponseError};
/// use idem_runtime::Retry;
///
/// #[derive(Debug)]
/// enum OrderError {
///     Conflict(Retry),
/// }
/// # impl std::fmt::Display for OrderError {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("conflict") }
/// # }
///
/// impl ResponseError for OrderError {
///     fn error_response(&self) -> HttpResponse {
///         match self {
///             Self::Conflict(retry) => retry.error_response(),
///         }
///     }
/// }
/// # let response = OrderError::Conflict(Retry::new("deadlock")).error_response();
/// # assert_eq!(response.status(), 500);
/// ```
#[derive(Debug)]
pub struct Retry(Box<dyn std::error::Error + Send + Sync>);

/// What `Retry` leaves on its response, so that the runtime finds it under any error type.
struct Asked;

impl Retry {
    /// Asks to be run again because of this.
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(source.into())
    }

    /// Whether the database refused a statement because of concurrent transactions, so that another run
    /// may succeed: a serialization failure, a deadlock, or (MySQL, MariaDB) a lock that was waited for in
    /// vain.
    ///
    /// diesel-async has no kind for the latter two. They are known by the servers' English messages.
    ///
    /// ```
    /// # use diesel::result::{DatabaseErrorKind, Error};
    /// # use idem_runtime::Retry;
    /// fn told(error: Error) -> Result<Retry, Error> {
    ///     match Retry::may_help(&error) {
    ///         true => Ok(Retry::new(error)),
    ///         false => Err(error),
    ///     }
    /// }
    /// # assert!(told(Error::NotFound).is_err());
    /// ```
    #[must_use]
    pub fn may_help(error: &diesel::result::Error) -> bool {
        is_conflict(error)
    }

    /// Asks with this response.
    pub(crate) fn mark(response: &mut HttpResponse) {
        response.extensions_mut().insert(Asked);
    }

    pub(crate) fn is_asked_by(response: &HttpResponse) -> bool {
        response.extensions().contains::<Asked>()
    }
}

impl From<diesel::result::Error> for Retry {
    fn from(error: diesel::result::Error) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to be run again: {}", self.0)
    }
}

impl std::error::Error for Retry {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

impl ResponseError for Retry {
    fn status_code(&self) -> StatusCode {
        StatusCode::INTERNAL_SERVER_ERROR
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = Problem::handler_failed().respond(DEFAULT_BASE);
        Self::mark(&mut response);
        response
    }
}
