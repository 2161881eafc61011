//! The loop: attempts and pauses until a verdict ends it or the budget does.
//!
//! It carries out what the verdict and the course say, and keeps what is known of the operation.

use std::time::{Duration, SystemTime};

use backon::ExponentialBuilder;
use tokio::time::{Instant, sleep};

use crate::answer::Answer;
use crate::attempt::{Attempt, Failed};
use crate::course::Course;
use crate::error::NotSent;
use crate::failure::Failure;
use crate::operation::PendingOperation;
use crate::outcome::{Done, Outcome, Refused, Unknown, Why};
use crate::verdict::{self, Effect, Seen, Verdict};

/// How long, how often.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) budget: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) backoff: ExponentialBuilder,
    pub(crate) retention: Option<Duration>,
}

/// Sends the operation until its outcome is known or the limits are met. `clock` is the one by which the operation ages.
pub(crate) async fn drive(
    transport: &impl Attempt,
    limits: &Limits,
    operation: &mut PendingOperation,
    clock: &(impl Fn() -> SystemTime + Sync),
) -> Result<Outcome, NotSent> {
    operation.check()?;
    let budget = match operation.time_left(limits.retention, clock()) {
        Ok(left) => limits.budget.min(left),
        Err(why) => return Ok(unknown(why, Last::Nothing, 0, operation)),
    };
    let mut course = Course::begin(
        Instant::now(),
        budget,
        limits.attempt_timeout,
        limits.backoff,
    );
    let mut earlier = operation.may_have_arrived();
    let mut attempts = 0;
    let mut last = Last::Nothing;
    loop {
        // Asked again before each attempt: the budget's clock stands still while the machine sleeps, and the server's does not.
        let left = match operation.time_left(limits.retention, clock()) {
            Ok(left) => left,
            Err(why) => return Ok(unknown(why, last, attempts, operation)),
        };
        attempts += 1;
        // Whoever drops this future does not know how far it came.
        operation.set_may_have_arrived(true);
        let time = course.attempt_time(Instant::now()).min(left);
        let attempt = transport.once(operation, time);
        let effect;
        (effect, last) = match attempt.await {
            Ok(answer) => {
                match verdict::of_answer(Seen::of(&answer, operation.method()), earlier) {
                    Verdict::Done => return Ok(Outcome::Done(Box::new(Done { answer, attempts }))),
                    Verdict::Refused => {
                        operation.set_may_have_arrived(earlier);
                        return Ok(refused(answer, attempts, operation));
                    }
                    Verdict::Stop(why) => {
                        return Ok(unknown(why, answer.into(), attempts, operation));
                    }
                    Verdict::Again(effect) => (effect, Last::from(answer)),
                }
            }
            Err(Failed::Way(failure)) => (verdict::of_failure(&failure), failure.into()),
            Err(Failed::Request(error)) => {
                operation.set_may_have_arrived(earlier);
                return Err(NotSent::Request(error));
            }
        };
        earlier |= effect == Effect::Possible;
        operation.set_may_have_arrived(earlier);
        let pause = course.pause(Instant::now(), last.retry_after(), fastrand::f64());
        let Some(pause) = pause else {
            return Ok(unknown(Why::Budget, last, attempts, operation));
        };
        let pause_ms = pause.as_millis();
        tracing::debug!(attempts, pause_ms, ?last, "the operation is sent again");
        sleep(pause).await;
    }
}

/// What the last attempt brought.
#[derive(Debug)]
enum Last {
    Nothing,
    Answer(Answer),
    Failure(Failure),
}

impl From<Answer> for Last {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Failure> for Last {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Last {
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answer(answer) => answer.retry_after(),
            _ => None,
        }
    }
}

fn refused(answer: Answer, attempts: u32, operation: &PendingOperation) -> Outcome {
    Outcome::Refused(Box::new(Refused {
        answer,
        attempts,
        operation: operation.clone(),
    }))
}

fn unknown(why: Why, last: Last, attempts: u32, operation: &PendingOperation) -> Outcome {
    let (answer, failure) = match last {
        Last::Nothing => (None, None),
        Last::Answer(answer) => (Some(answer), None),
        Last::Failure(failure) => (None, Some(failure)),
    };
    tracing::debug!(attempts, %why, "the outcome of the operation is unknown");
    Outcome::Unknown(Box::new(Unknown {
        why,
        failure,
        answer,
        attempts,
        operation: operation.clone(),
    }))
}

#[cfg(test)]
mod tests;
