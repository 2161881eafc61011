//! How a request may end, in the words of the label `outcome`.

use actix_web::http::StatusCode;

use crate::operation::Refusal;
use crate::problem::ProblemCode;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The handler ran, and its response is recorded.
    Executed,
    /// The handler ran without a key.
    Unprotected,
    /// The handler refused the request, with a status that is not recorded.
    Unrecorded,
    /// The handler, or an end of it, failed.
    Failed,
    /// The answer came from a record.
    Replayed,
    /// The first attempt was running.
    InFlight,
    /// The key was used for another request.
    Mismatch,
    /// The key is older than its record would be, and there is none.
    KeyExpired,
    /// Nobody knows how the first attempt ended.
    Unresolved,
    /// There is a record, and it cannot be read.
    Unreadable,
    /// The request was refused before the key was claimed.
    Rejected,
    /// The store was not reached, or has not said how it ended.
    Unavailable,
}

impl Outcome {
    pub(super) const ALL: [Self; 12] = [
        Self::Executed,
        Self::Unprotected,
        Self::Unrecorded,
        Self::Failed,
        Self::Replayed,
        Self::InFlight,
        Self::Mismatch,
        Self::KeyExpired,
        Self::Unresolved,
        Self::Unreadable,
        Self::Rejected,
        Self::Unavailable,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Unprotected => "unprotected",
            Self::Unrecorded => "unrecorded",
            Self::Failed => "failed",
            Self::Replayed => "replayed",
            Self::InFlight => "in_flight",
            Self::Mismatch => "mismatch",
            Self::KeyExpired => "key_expired",
            Self::Unresolved => "unresolved",
            Self::Unreadable => "unreadable",
            Self::Rejected => "rejected",
            Self::Unavailable => "unavailable",
        }
    }

    /// That of a handler's answer of which no record is made.
    pub(crate) fn without_record(status: StatusCode) -> Self {
        match status.is_server_error() {
            true => Self::Failed,
            false => Self::Unrecorded,
        }
    }

    /// That of an answer in lease mode behind which nobody knows what was done, whatever its status says.
    pub(crate) fn of_failure(answer: &Refusal) -> Self {
        match answer {
            Refusal::Ours(_) => Self::of(answer),
            Refusal::Theirs(_) => Self::Failed,
        }
    }

    /// That of a refusal of which nothing else was told.
    pub(super) fn of(refusal: &Refusal) -> Self {
        let problem = match refusal {
            Refusal::Theirs(_) => return Self::Rejected,
            Refusal::Ours(problem) => problem,
        };
        match problem.code() {
            ProblemCode::KeyMissing
            | ProblemCode::KeyInvalid
            | ProblemCode::ScopeUnresolved
            | ProblemCode::RequestTooLarge
            | ProblemCode::OperationUnknown => Self::Rejected,
            ProblemCode::KeyReused => Self::Mismatch,
            ProblemCode::KeyExpired => Self::KeyExpired,
            ProblemCode::InFlight => Self::InFlight,
            ProblemCode::Unresolved => Self::Unresolved,
            ProblemCode::StoreUnavailable => Self::Unavailable,
            ProblemCode::Misconfigured
            | ProblemCode::HandlerFailed
            | ProblemCode::ResponseNotStorable => Self::Failed,
            ProblemCode::RecordUnreadable => Self::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By which an endpoint's metrics are found.
    #[test]
    fn each_stands_at_its_number() {
        for (number, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, number);
        }
    }
}
