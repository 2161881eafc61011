//! The steps of an operation: each is done once, and its result is remembered with the claim, so that
//! a handler that is run again does not repeat what is finished.
//!
//! No SQL, no decisions about the operation.

mod error;
mod line;
mod log;
mod transaction;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::StepError;
pub(crate) use line::{DamagedLine, Finished, SealedResult, StepLine, lines, names};
#[cfg(any(test, fuzzing))]
pub(crate) use log::Asked;
pub(crate) use log::Log;

use super::holding::{Holding, Watched, Word};
use super::insist::insist;
use crate::idempotency::Settings;
use crate::key::IdempotencyKey;
use crate::operation::{Keyed, Operation};
use crate::problem::{Problem, ProblemError};
use crate::reach::Reach;
use crate::seal::Context;
use crate::store::Backend;
use crate::store::lease::{self, Held};

#[doc = include_str!("steps/steps.md")]
pub struct Steps<C>(Rc<Inner<C>>);

struct Inner<C> {
    settings: Arc<Settings<C>>,
    endpoint: String,
    key: IdempotencyKey,
    /// The longest result that is remembered, in bytes of JSON.
    limit: usize,
    run: RefCell<Option<Run>>,
}

/// One run of the handler, under its claim.
struct Run {
    held: Held,
    fingerprint: Vec<u8>,
    watched: Watched,
    /// Whether it is the first run under this claim.
    is_new: bool,
    /// Whether it has called the outside world.
    has_called: bool,
    log: Log,
    /// What is for good.
    fault: Option<Fault>,
    /// The steps that have failed in themselves, and are not finished since.
    failed: Vec<String>,
}

/// What a step has found that decides how its run ends, whatever the handler makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The claim is not ours any more.
    Lost,
    /// These are not the steps that were begun.
    Changed,
    /// The store did not take what a step has done.
    Unavailable,
    /// A step is wrong in itself, or its transaction failed.
    Failed,
}

/// What a run has found of its steps.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) fault: Option<Fault>,
    /// A finished step that it has not asked for.
    pub(super) left_out: Option<String>,
    /// Whether this is the first run, it has called nobody, and no step is finished: the outside world
    /// has not seen the operation's derived keys, unless by itself the handler has sent them.
    pub(super) is_untouched: bool,
}

impl<C> Clone for Steps<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C> std::fmt::Debug for Steps<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Steps(..)")
    }
}

impl<C: Backend> FromRequest for Steps<C> {
    type Error = ProblemError;
    type Future = std::future::Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let steps = request.extensions().get::<Self>().cloned();
        std::future::ready(steps.ok_or_else(|| {
            tracing::error!(
                "`Steps<{}>` outside of a handler in lease mode on that backend",
                std::any::type_name::<C>()
            );
            ProblemError::new(Problem::misconfigured(), request)
        }))
    }
}

impl<C: Backend> Steps<C> {
    /// Calls the outside world, with a key for it that is the same for every attempt:
    /// [`IdempotencyKey::derive`] of the step's name. The result is remembered as JSON; all results
    /// together may be as long as the endpoint's `response_limit`.
    ///
    /// If the process dies behind the call and before its result is remembered, the call is made again
    /// with the same key when the operation is run again: the other side must know that key.
    ///
    /// # Errors
    ///
    /// The call's own error, of which nothing is remembered: the step may be asked for again.
    /// [`StepError`] otherwise.
    pub async fn call<T, E>(
        &self,
        name: &str,
        call: impl AsyncFnOnce(String) -> Result<T, E>,
    ) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<StepError>,
    {
        let step = match self.ask(name)? {
            Turn::Finished(value) => return Ok(value),
            Turn::Ours(step) => step,
        };
        if let Some(run) = self.0.run.borrow_mut().as_mut() {
            run.has_called = true;
        }
        self.may_be_packed(name)?;
        let value = call(self.0.key.derive(name)).await?;
        let line = self.line(name, &value)?;
        step.write(&line, self.remember(name, &line.text)).await?;
        Ok(value)
    }

    /// Asks for a step: its result, if it is finished, or the turn to do it.
    fn ask<T: DeserializeOwned>(&self, name: &str) -> Result<Turn<'_, T, C>, StepError> {
        let mut run = self.0.run.borrow_mut();
        let Some(run) = run.as_mut() else {
            return Err(StepError::NotRunning);
        };
        match run.watched.word() {
            Word::Kept => {}
            Word::Taken => return Err(run.blame(Fault::Lost, StepError::Lost)),
            Word::Unrenewed => return Err(run.blame(Fault::Unavailable, StepError::Unavailable)),
        }
        // Once these have happened, no later step may go on as if they had not.
        match run.fault {
            Some(Fault::Lost) => return Err(StepError::Lost),
            Some(Fault::Unavailable) => return Err(StepError::Unavailable),
            _ => {}
        }
        let asked = run.log.ask(name).and_then(|asked| match asked {
            log::Asked::Finished(json) => match serde_json::from_str(&json) {
                Ok(value) => Ok(Turn::Finished(value)),
                Err(source) => Err(StepError::unreadable(name, source)),
            },
            log::Asked::New => Ok(Turn::Ours(Step {
                steps: self,
                is_being_written: false,
            })),
        });
        asked.map_err(|error| {
            tracing::error!(endpoint = self.0.endpoint, %error, "a step is refused");
            match error {
                StepError::Changed { .. } | StepError::Unreadable { .. } => {
                    run.blame(Fault::Changed, error)
                }
                error => run.fail(name, error),
            }
        })
    }

    fn line(&self, name: &str, value: &impl Serialize) -> Result<Line, StepError> {
        let unserializable = |source| self.fail(name, StepError::unserializable(name, source));
        let finished = Finished::new(name, value).map_err(unserializable)?;
        let limit = self.0.limit;
        let size = |run: &Run| run.log.size_with(&finished);
        if self.0.run.borrow().as_ref().map_or(0, size) > limit {
            let step = name.to_owned();
            return Err(self.fail(name, StepError::TooLarge { step, limit }));
        }
        let size = finished.size();
        let text = self.packed(name, finished)?.text();
        let text = text.map_err(unserializable)?;
        Ok(Line { text, size })
    }

    /// Before the outside world is called: what it answers could otherwise be remembered nowhere.
    fn may_be_packed(&self, name: &str) -> Result<(), StepError> {
        let nothing = Finished::new(name, &());
        let nothing = nothing.map_err(|source| StepError::unserializable(name, source))?;
        self.packed(name, nothing).map(drop)
    }

    /// The line of a finished step, sealed where the application seals.
    fn packed(&self, name: &str, finished: Finished) -> Result<StepLine, StepError> {
        let mut run = self.0.run.borrow_mut();
        let run = run.as_mut().ok_or(StepError::NotRunning)?;
        let context = Context {
            scope: self.0.key.scope(),
            key: self.0.key.as_str(),
            fingerprint: &run.fingerprint,
        };
        let packed = self.0.settings.packing.pack_step(context, finished);
        packed.map_err(|source| {
            let step = name.to_owned();
            run.fail(name, StepError::Unsealed { step, source })
        })
    }

    /// Writes a finished step by itself. As long as the lease lasts the store may come back.
    async fn remember(&self, name: &str, line: &str) -> Result<(), StepError> {
        let lease = self.run()?;
        let held = lease.0;
        let finish = async |connection: &mut C| lease::finish_step(connection, &held, line).await;
        match insist(&self.0.settings, &self.0.endpoint, lease, finish).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.blame(Fault::Lost, StepError::Lost)),
            Err(_) => {
                tracing::error!(
                    endpoint = self.0.endpoint,
                    step = name,
                    "a step's result is lost"
                );
                Err(self.blame(Fault::Unavailable, StepError::Unavailable))
            }
        }
    }

    fn run(&self) -> Result<(Held, Watched), StepError> {
        let run = self.0.run.borrow();
        let run = run.as_ref().ok_or(StepError::NotRunning)?;
        Ok((run.held, run.watched.clone()))
    }

    fn blame(&self, fault: Fault, error: StepError) -> StepError {
        match self.0.run.borrow_mut().as_mut() {
            Some(run) => run.blame(fault, error),
            None => error,
        }
    }

    fn fail(&self, step: &str, error: StepError) -> StepError {
        match self.0.run.borrow_mut().as_mut() {
            Some(run) => run.fail(step, error),
            None => error,
        }
    }

    fn reach(&self) -> Reach<'_, C> {
        Reach::new(&self.0.settings, &self.0.endpoint)
    }

    /// Those of one request, not yet under a claim.
    pub(super) fn new(operation: &Operation<C>, keyed: &Keyed) -> Self {
        Self(Rc::new(Inner {
            settings: Arc::clone(&operation.settings),
            endpoint: operation.endpoint.clone(),
            key: keyed.name.clone(),
            limit: operation.policy.response_limit,
            run: RefCell::default(),
        }))
    }

    /// The claim is ours. If it was taken over, these steps are finished.
    pub(super) fn begin(&self, holding: &Holding, taken_over: Option<Log>) {
        self.0.run.replace(Some(Run {
            is_new: taken_over.is_none(),
            has_called: false,
            held: holding.held,
            fingerprint: holding.fingerprint.clone(),
            watched: holding.watched(),
            log: taken_over.unwrap_or_default(),
            fault: None,
            failed: Vec::new(),
        }));
    }

    /// The run is over.
    pub(super) fn end(&self) -> Found {
        let Some(run) = self.0.run.take() else {
            return Found::default();
        };
        let failed = (!run.failed.is_empty()).then_some(Fault::Failed);
        Found {
            fault: run.fault.or(failed),
            left_out: run.log.left_out().map(str::to_owned),
            is_untouched: run.is_new && !run.has_called && run.log.is_empty(),
        }
    }
}

impl Run {
    fn blame(&mut self, fault: Fault, error: StepError) -> StepError {
        // The first one stays.
        self.fault.get_or_insert(fault);
        error
    }

    fn fail(&mut self, step: &str, error: StepError) -> StepError {
        self.failed.push(step.to_owned());
        error
    }
}

/// A finished step as it is written, and what it counts.
struct Line {
    text: String,
    size: usize,
}

enum Turn<'a, T, C> {
    Finished(T),
    Ours(Step<'a, C>),
}

/// The turn to do a step. Dropping it says that nothing of it is finished, or, while it is being written,
/// that nobody knows.
struct Step<'a, C> {
    steps: &'a Steps<C>,
    is_being_written: bool,
}

impl<C> Step<'_, C> {
    /// Waits until it is written, and is finished then.
    async fn write(
        mut self,
        line: &Line,
        written: impl Future<Output = Result<(), StepError>>,
    ) -> Result<(), StepError> {
        self.is_being_written = true;
        let written = written.await;
        self.is_being_written = false;
        written?;
        if let Some(Run { log, failed, .. }) = self.steps.0.run.borrow_mut().as_mut()
            && let Some(step) = log.finish(line.size)
        {
            failed.retain(|failed| failed != step);
        }
        Ok(())
    }
}

impl<C> Drop for Step<'_, C> {
    fn drop(&mut self) {
        if let Some(run) = self.steps.0.run.borrow_mut().as_mut() {
            run.log.leave();
            if self.is_being_written {
                run.fault.get_or_insert(Fault::Unavailable);
            }
        }
    }
}
