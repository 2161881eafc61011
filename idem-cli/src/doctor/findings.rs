//! What a check has found: a verdict, a sentence, and what to do.

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use serde::Serialize;

use crate::error::is_lock_timeout;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    /// It works, and somebody should look into it.
    Warning,
    /// Something does not work, or is lost.
    Failure,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) verdict: Verdict,
    pub(super) says: String,
    pub(super) to_do: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &str, says: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, says.into(), None)
    }

    pub(super) fn warning(check: &str, says: impl Into<String>, to_do: &str) -> Self {
        Self::new(check, Verdict::Warning, says.into(), Some(to_do))
    }

    pub(super) fn failure(check: &str, says: impl Into<String>, to_do: &str) -> Self {
        Self::new(check, Verdict::Failure, says.into(), Some(to_do))
    }

    /// What a check has found, or that it could not be made. One that cannot be made keeps no other from being made.
    pub(super) fn of(check: &str, found: QueryResult<Self>) -> Self {
        found.unwrap_or_else(|error| Self::unknown(check, &error))
    }

    pub(super) fn unknown(check: &str, error: &Error) -> Self {
        let says = format!("could not be checked: {}", reason(error));
        let to_do = "The user of the URL has to be allowed to read the tables and the catalogs. The other findings may say more.";
        Self::warning(check, says, to_do)
    }

    fn new(check: &str, verdict: Verdict, says: String, to_do: Option<&str>) -> Self {
        Self {
            check: check.to_owned(),
            verdict,
            says,
            to_do: to_do.map(str::to_owned),
        }
    }
}

/// In our words: a server's may quote the statement.
fn reason(error: &Error) -> &'static str {
    match error {
        error if is_lock_timeout(error) => "somebody else holds a lock on the table",
        Error::NotFound => "the catalog does not have it",
        Error::DeserializationError(_) => "the answer cannot be read",
        Error::DatabaseError(
            DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand,
            _,
        ) => "the connection is lost",
        Error::DatabaseError(..) => "the database refused the question, or did not answer in time",
        _ => "the question could not be asked",
    }
}
