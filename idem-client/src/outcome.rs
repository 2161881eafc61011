//! How a call ended: done, refused, or unknown.
//!
//! Plain values; what leads to which is the verdict's.

use std::time::Duration;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::PendingOperation;
use crate::problem::Problem;

/// How a call ended. There is no fourth way: whatever is not known to be done, or known not to be, is [`Unknown`](Self::Unknown).
#[derive(Debug)]
#[must_use = "an operation whose outcome is unknown has to be kept and sent again"]
pub enum Outcome {
    /// The operation is done: now, or by an earlier attempt of which this is the answer.
    Done(Box<Done>),
    /// The server's answer to the operation is no, and it says why: 4xx, 501 or 505. It will not be done under this key. What a
    /// server did in steps that it had finished before (lease mode, calls of third parties) stays.
    Refused(Box<Refused>),
    /// Nobody knows whether the operation is done. Keep it, and send it again later **with the same key**.
    Unknown(Box<Unknown>),
}

impl Outcome {
    /// How many attempts this call made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Done(done) => done.attempts,
            Self::Refused(refused) => refused.attempts,
            Self::Unknown(unknown) => unknown.attempts,
        }
    }

    /// The last answer; none where an unknown outcome was not answered.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Done(done) => Some(&done.answer),
            Self::Refused(refused) => Some(&refused.answer),
            Self::Unknown(unknown) => unknown.answer(),
        }
    }

    /// Whether the last answer was one that an earlier attempt got: see [`Answer::replayed`].
    #[must_use]
    pub fn replayed(&self) -> bool {
        self.answer().is_some_and(Answer::replayed)
    }

    /// What the last answer says about a refusal or a failure.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.answer()?.problem()
    }

    /// For `?`: the answer of what is done.
    ///
    /// # Errors
    ///
    /// It is not known to be done. Tell the two cases apart: an unknown outcome is no failure.
    pub fn done(self) -> Result<Answer, NotDone> {
        match self {
            Self::Done(done) => Ok(done.answer),
            Self::Refused(refused) => Err(NotDone::Refused(refused)),
            Self::Unknown(unknown) => Err(NotDone::Unknown(unknown)),
        }
    }
}

/// What is not known to be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotDone {
    /// The answer was no.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// It may be done.
    #[error(transparent)]
    Unknown(Box<Unknown>),
}

/// An operation that is done.
#[derive(Debug)]
pub struct Done {
    pub(crate) answer: Answer,
    pub(crate) attempts: u32,
}

impl Done {
    /// Its answer.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Its answer, to keep.
    #[must_use]
    pub fn into_answer(self) -> Answer {
        self.answer
    }
}

/// An operation that was refused: see [`Outcome::Refused`].
#[derive(Debug, thiserror::Error)]
#[error("the server has refused the operation: {}", .answer.status())]
pub struct Refused {
    pub(crate) answer: Answer,
    pub(crate) attempts: u32,
    pub(crate) operation: PendingOperation,
}

impl Refused {
    /// What the server said.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The operation, to be sent again with the same key where only its surroundings were wrong: after 401, with a new token
    /// ([`PendingOperation::secret_header`]) of the same account. Another body is another operation, with another key.
    #[must_use]
    pub fn into_operation(self) -> PendingOperation {
        self.operation
    }
}

/// An operation that may be done or not.
#[derive(Debug, thiserror::Error)]
#[error("the outcome of the operation is not known: {why}")]
pub struct Unknown {
    pub(crate) why: Why,
    #[source]
    pub(crate) failure: Option<Failure>,
    pub(crate) answer: Option<Answer>,
    pub(crate) attempts: u32,
    pub(crate) operation: PendingOperation,
}

impl Unknown {
    /// Why there was no further attempt.
    #[must_use]
    pub fn why(&self) -> Why {
        self.why
    }

    /// How many attempts the call made; none where it was [too late](Why::RetentionOver), or [too early](Why::ClockBehind), for any.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What the last attempt was answered, if it was.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_ref()
    }

    /// Why the last attempt was not answered, if it was not.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What the server asked to wait, in the last answer.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.answer.as_ref()?.retry_after()
    }

    /// Whether an attempt may have had its effect, or a part of it. `false` where every one of them, also of the calls before, found
    /// no connection or was answered 425.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        self.operation.may_have_arrived()
    }

    /// The operation, with its key.
    #[must_use]
    pub fn operation(&self) -> &PendingOperation {
        &self.operation
    }

    /// The operation, with its key: to be kept, and sent again where [`Why::may_go_on`] says that this can help.
    #[must_use]
    pub fn into_operation(self) -> PendingOperation {
        self.operation
    }
}

/// Why there was no further attempt, though the outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The budget is used up, in time or in attempts, or the server asks to wait for longer than it lasts.
    #[error("the budget is used up")]
    Budget,
    /// The operation is older than what the server retains: another attempt could run it a second time, and was not made.
    #[error("it is older than what the server retains")]
    RetentionOver,
    /// By this machine's clock the operation is not made yet, so that nobody can say whether the server still knows its key. The
    /// attempt was not made. When the clock is right, it can be.
    #[error("this machine's clock stands before the time when it was made")]
    ClockBehind,
    /// 410 `idempotency-key-expired`: the same, said by the server.
    #[error("the server has forgotten what became of its key")]
    KeyExpired,
    /// 5xx that says it is not to be sent again, or is recorded as the operation's answer: part of it may be done.
    #[error("the server has failed, and would again")]
    ServerError,
    /// A redirect, which is never followed and says nothing of what was done. (303 after a form may be a success; to a login it is not.)
    #[error("the server points elsewhere")]
    Redirected,
    /// A later attempt was refused, with whatever status, and without the mark of a replay. That says nothing of the earlier one:
    /// the refusal may come from in front of the look for the key (401, 404), from the attempt that still runs (409), or from the
    /// effect itself (412). Run it again: where the refusal is the operation's own, a server that marks its replays then says so.
    #[error("a later attempt was refused")]
    RefusedLater,
}

impl Why {
    /// Whether the same operation may be sent again later. Otherwise find out in another way what became of it (list the orders),
    /// or ask a person.
    #[must_use]
    pub fn may_go_on(self) -> bool {
        matches!(
            self,
            Self::Budget | Self::ClockBehind | Self::RefusedLater | Self::Redirected
        )
    }
}
