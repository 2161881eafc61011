//! One run of the handler under its lease, and the end that its answer means for the claim.
//!
//! No SQL, no claims.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use diesel::QueryResult;
use tokio::time::Instant;

use super::holding::{Holding, Word};
use super::insist::insist;
use super::steps::{Fault, Found, StepError, Steps};
use crate::operation::{Keyed, Operation, Refusal};
use crate::policy::{LeasePolicy, Resume, Unresolved};
use crate::problem::Problem;
use crate::reach::Unreached;
use crate::response::StoredResponse;
use crate::retry::Retry;
use crate::store::Backend;
use crate::store::lease::{self, Held};
use crate::supervise::{Ran, supervise};
use crate::telemetry::{Outcome, Phase};
use crate::testing::Door;

/// How the handler ended.
enum Ended {
    /// With an answer that is recorded, and the first one to it.
    Final(HttpResponse, StoredResponse),
    /// With an answer that is not recorded. Nobody knows what the outside world has seen.
    Failed(Refusal),
    /// With an answer that says that nothing was done.
    Refused(Refusal),
    /// Its steps are not those that were begun.
    Changed,
    /// The claim is not ours any more.
    Lost,
    /// The lease could not be renewed.
    Unrenewed,
}

/// Runs the handler, and ends the claim.
pub(super) async fn run<C, A, F>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    holding: &Holding,
    steps: &Steps<C>,
    arguments: A,
    handler: F,
) -> Result<HttpResponse, Refusal>
where
    C: Backend,
    F: AsyncFn(A, &HttpRequest) -> HttpResponse,
{
    let ended = handle(operation, keyed, holding, arguments, handler).await;
    let found = steps.end();
    let is_untouched = found.is_untouched;
    let ended = judge(operation, ended, found);
    let held = holding.held;
    match ended {
        Ended::Final(answer, stored) => {
            record(operation, keyed, lease, holding, answer, stored).await
        }
        Ended::Failed(answer) => {
            let is_free = lease.unresolved == Unresolved::Rerun && lease.resume == Resume::Client;
            if is_free && is_untouched && forget(operation, held).await
                || end(operation, held).await
            {
                operation.tally.tell(Outcome::of_failure(&answer));
                return Err(answer);
            }
            lost(operation, keyed, lease, held).await
        }
        Ended::Refused(answer) => {
            if is_untouched && forget(operation, held).await || give_back(operation, held).await {
                operation
                    .tally
                    .tell(Outcome::without_record(answer.status()));
                return Err(answer);
            }
            lost(operation, keyed, lease, held).await
        }
        Ended::Changed => {
            leave(operation, held).await;
            Err(Problem::changed().into())
        }
        Ended::Lost => lost(operation, keyed, lease, held).await,
        Ended::Unrenewed => {
            operation.tally.lost("unrenewed");
            Err(Problem::store_unavailable().into())
        }
    }
}

/// The handler's answer with its body, within the time it has, and only as long as the lease is ours.
async fn handle<C, A, F>(
    operation: &Operation<C>,
    keyed: &Keyed,
    holding: &Holding,
    arguments: A,
    handler: F,
) -> Ended
where
    C: Backend,
    F: AsyncFn(A, &HttpRequest) -> HttpResponse,
{
    let deadline = Instant::now() + operation.policy.timeout;
    match holding.word() {
        Word::Kept => {}
        Word::Taken => return Ended::Lost,
        Word::Unrenewed => return Ended::Unrenewed,
    }
    let answering = async {
        let response = handler(arguments, &operation.request).await;
        Door::pass(&operation.request, operation.policy).await;
        response
    };
    let running = async {
        tokio::select! {
            biased;
            response = answering => Some(response),
            () = holding.lost() => None,
        }
    };
    let failed = |problem: Problem| Ended::Failed(problem.in_lease_mode().into());
    let running = supervise(deadline, running);
    let ran = operation.tally.timed(Phase::Handler, running).await;
    let response = match (ran, holding.word()) {
        // Whether its record comes in time is for the store to say.
        (Ran::Finished(Some(response)), _) => response,
        // Dropped, which on SQLite may have ended in a panic.
        (Ran::Finished(None) | Ran::Panicked, Word::Unrenewed) => return Ended::Unrenewed,
        (Ran::Finished(None), _) | (Ran::Panicked, Word::Taken) => return Ended::Lost,
        (Ran::Panicked, Word::Kept) => {
            tracing::error!(endpoint = operation.endpoint, "the handler panicked");
            return failed(Problem::handler_failed());
        }
        (Ran::TimedOut, _) => {
            tracing::error!(endpoint = operation.endpoint, "the handler timed out");
            return failed(Problem::timed_out());
        }
    };
    if Retry::is_asked_by(&response) {
        return Ended::Refused(Problem::handler_failed().in_lease_mode().into());
    }
    if !operation.policy.store.records(response.status().as_u16()) {
        return match says_nothing_was_done(response.status()) {
            true => Ended::Refused(Refusal::Theirs(response)),
            false => Ended::Failed(StepError::answer_of(response)),
        };
    }
    let context = holding.context(keyed);
    match operation.capture(context, deadline, response).await {
        Ok((answer, stored)) => Ended::Final(answer, stored),
        Err(problem) => failed(problem),
    }
}

/// A handler that answers with a client's error, and has it not recorded, says that it has refused the
/// request (RFC 9110, section 15.5). After a time-out nobody knows.
fn says_nothing_was_done(status: StatusCode) -> bool {
    status.is_client_error() && status != StatusCode::REQUEST_TIMEOUT
}

/// What the steps have found outranks the answer that the handler made of it.
fn judge<C: Backend>(operation: &Operation<C>, ended: Ended, found: Found) -> Ended {
    match (found.fault, ended) {
        (_, ended @ (Ended::Lost | Ended::Unrenewed)) => ended,
        (Some(Fault::Lost), _) => Ended::Lost,
        (Some(Fault::Changed), _) => Ended::Changed,
        (Some(Fault::Unavailable), _) => Ended::Failed(Problem::store_unavailable().into()),
        (Some(Fault::Failed), Ended::Failed(answer)) => Ended::Failed(answer),
        (Some(Fault::Failed), _) => Ended::Failed(Problem::handler_failed().in_lease_mode().into()),
        // A run that failed may not have come so far.
        (None, Ended::Final(..)) if found.left_out.is_some() => {
            let (endpoint, step) = (&operation.endpoint, found.left_out);
            tracing::error!(endpoint, step, "a finished step was not asked for");
            Ended::Changed
        }
        (None, ended) => ended,
    }
}

/// Writes the record, if the claim is still ours. As long as the lease lasts the store may come back.
async fn record<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    holding: &Holding,
    answer: HttpResponse,
    stored: StoredResponse,
) -> Result<HttpResponse, Refusal> {
    let (held, retain) = (holding.held, operation.policy.retain);
    let record = async |connection: &mut C| lease::record(connection, &held, &stored, retain).await;
    let ours = (held, holding.watched());
    let recording = insist(&operation.settings, &operation.endpoint, ours, record);
    match operation.tally.timed(Phase::Record, recording).await {
        Ok(true) => {
            operation.tally.tell(Outcome::Executed);
            Ok(answer)
        }
        // An earlier try may have been ours, and its answer lost.
        Ok(false) if is_recorded_by(operation, held).await? => {
            operation.tally.tell(Outcome::Executed);
            Ok(answer)
        }
        Ok(false) => lost(operation, keyed, lease, held).await,
        Err(unreached) => {
            tracing::error!(
                endpoint = operation.endpoint,
                "the response could not be recorded"
            );
            Err(Problem::from(unreached).into())
        }
    }
}

async fn is_recorded_by<C: Backend>(
    operation: &Operation<C>,
    held: Held,
) -> Result<bool, Unreached> {
    let state = async |connection: &mut C| lease::state(connection, held.id).await;
    let (_, state) = operation.reach().ask(state).await?;
    Ok(state.is_some_and(|state| state.is_of(&held) && !state.is_pending()))
}

/// Somebody else has the claim, or has ended it: the late owner's client is told what is known now.
async fn lost<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    held: Held,
) -> Result<HttpResponse, Refusal> {
    tracing::warn!(endpoint = operation.endpoint, owner = %held.owner, "the claim was lost");
    operation.tally.lost("taken");
    if let Some(record) = operation.look(keyed).await? {
        return Ok(operation.answer_from(keyed, &record)?);
    }
    let state = async |connection: &mut C| lease::state(connection, held.id).await;
    match operation.reach().ask(state).await?.1 {
        Some(state) if state.is_going_on() => Err(operation.in_flight(keyed)),
        Some(state) if !state.may_rerun(lease.unresolved) => Err(Problem::unresolved().into()),
        Some(_) | None => Err(Problem::stranded().into()),
    }
}

/// Lets go of a claim under which no handler was entered.
pub(super) async fn withdraw<C: Backend>(
    operation: &Operation<C>,
    lease: LeasePolicy,
    held: Held,
    is_new: bool,
) {
    let _ended = is_new && forget(operation, held).await
        || match lease.unresolved {
            // Somebody had released it, or it could not have been taken over.
            Unresolved::Hold if !is_new => give_back(operation, held).await,
            _ => end(operation, held).await,
        };
}

/// Forgets the claim: nothing was begun under it.
async fn forget<C: Backend>(operation: &Operation<C>, held: Held) -> bool {
    let forget = async |connection: &mut C| lease::forget(connection, &held).await;
    matches!(operation.reach().ask(forget).await, Ok((_, true)))
}

/// Ends the lease before its time.
async fn end<C: Backend>(operation: &Operation<C>, held: Held) -> bool {
    ended(operation, async |connection| {
        lease::end(connection, &held).await
    })
    .await
}

/// Lets a retry go on behind the finished steps.
async fn give_back<C: Backend>(operation: &Operation<C>, held: Held) -> bool {
    ended(operation, async |connection| {
        lease::give_back(connection, &held).await
    })
    .await
}

/// Leaves it to clients and to a reconciler.
pub(super) async fn leave<C: Backend>(operation: &Operation<C>, held: Held) -> bool {
    ended(operation, async |connection| {
        lease::leave(connection, &held).await
    })
    .await
}

/// Whether an end of ours has come in time. If the store is away, the lease ends in its time.
async fn ended<C: Backend>(
    operation: &Operation<C>,
    end: impl AsyncFn(&mut C) -> QueryResult<bool>,
) -> bool {
    match operation.reach().ask(end).await {
        Ok((_, ended)) => ended,
        Err(Unreached) => {
            tracing::warn!(endpoint = operation.endpoint, "a lease is left to run out");
            true
        }
    }
}
