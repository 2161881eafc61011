//! What may be wrong with a step, as a handler sees it.

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};

use crate::operation::Refusal;
use crate::problem::{DEFAULT_BASE, Problem};
use crate::seal::SealError;
use crate::store::CommitError;

/// Why a step was not done, or its result is not remembered.
///
/// The handler returns it like any error of its own. Whatever it answers, such a run is not recorded
/// as a success.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// A step of this name is finished in this run already.
    #[error("the step `{step}` was asked for twice in one run")]
    #[non_exhaustive]
    Repeated {
        /// The step.
        step: String,
    },
    /// Another step is running: they run one after another.
    #[error("the step `{step}` was asked for while `{running}` was running")]
    #[non_exhaustive]
    Overlapping {
        /// The step that was asked for.
        step: String,
        /// The step that was running.
        running: String,
    },
    /// An earlier step of this run was begun and is not finished. A failure that the handler goes on from is
    /// a result: return it as one from within the step, so that a later run goes on from the same.
    #[error("the step `{step}` was asked for behind `{unfinished}`, which is not finished")]
    #[non_exhaustive]
    Unfinished {
        /// The step that was asked for.
        step: String,
        /// The step that is not finished.
        unfinished: String,
    },
    /// An earlier run of this operation has finished another step at this place: the handler's code has
    /// changed in between. The operation stays unresolved.
    #[error("the step `{step}` was asked for where an earlier run had finished `{finished}`")]
    #[non_exhaustive]
    Changed {
        /// The step that was asked for.
        step: String,
        /// The step that is finished.
        finished: String,
    },
    /// The remembered result is not one of this type: the handler's code has changed in between. The
    /// operation stays unresolved.
    #[error("the remembered result of the step `{step}` cannot be read")]
    #[non_exhaustive]
    Unreadable {
        /// The step.
        step: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The result cannot be written as JSON. What the step did outside has happened.
    #[error("the result of the step `{step}` cannot be remembered")]
    #[non_exhaustive]
    Unserializable {
        /// The step.
        step: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The result could not be sealed, and nothing is stored that is not. What the step did outside has happened.
    #[error("the result of the step `{step}` cannot be sealed")]
    #[non_exhaustive]
    Unsealed {
        /// The step.
        step: String,
        /// Why not.
        source: SealError,
    },
    /// The results of all steps together are too long to be remembered. What the step did outside has happened.
    #[error("with the step `{step}` the results have more than {limit} bytes")]
    #[non_exhaustive]
    TooLarge {
        /// The step.
        step: String,
        /// The endpoint's `response_limit`.
        limit: usize,
    },
    /// The step's transaction was rolled back.
    #[error("the transaction of the step `{step}` was rolled back")]
    #[non_exhaustive]
    RolledBack {
        /// The step.
        step: String,
        /// What the database said.
        source: CommitError,
    },
    /// Somebody else has this operation now; a step's transaction was rolled back.
    #[error("the claim was lost")]
    Lost,
    /// The store cannot be reached, or nobody knows whether the step's transaction was committed.
    #[error("the store cannot be reached")]
    Unavailable,
    /// The handler's run is over, or has not begun.
    #[error("a step outside of the run of a handler")]
    NotRunning,
}

impl StepError {
    pub(super) fn unreadable(step: &str, source: serde_json::Error) -> Self {
        Self::Unreadable {
            step: step.to_owned(),
            source,
        }
    }

    pub(super) fn unserializable(step: &str, source: serde_json::Error) -> Self {
        Self::Unserializable {
            step: step.to_owned(),
            source,
        }
    }

    /// An answer of a handler, which may be one of these's that does not know the application's base.
    pub(in crate::lease) fn answer_of(response: HttpResponse) -> Refusal {
        let ours = response.extensions().get::<Problem>().cloned();
        ours.map_or(Refusal::Theirs(response), Refusal::Ours)
    }

    fn problem(&self) -> Problem {
        match self {
            Self::Unavailable => Problem::store_unavailable(),
            Self::Changed { .. } | Self::Unreadable { .. } => Problem::changed(),
            Self::Lost => Problem::in_flight(),
            _ => Problem::handler_failed().in_lease_mode(),
        }
    }
}

impl ResponseError for StepError {
    fn status_code(&self) -> StatusCode {
        self.problem().status()
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let problem = self.problem();
        let mut response = problem.respond(DEFAULT_BASE);
        response.extensions_mut().insert(problem);
        response
    }
}
