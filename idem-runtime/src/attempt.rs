//! One run of the handler inside its open transaction, and the end that its answer means for both.
//!
//! No claims, no SQL.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use tokio::time::Instant;

use crate::blocking;
use crate::claim::Ours;
use crate::defects::{Defect, is_seeded};
use crate::operation::{Chain, Keyed, Operation};
use crate::problem::Problem;
use crate::retry::Retry;
use crate::store::{Backend, CommitError, NewRecord, Record};
use crate::supervise::{Ran, supervise};
use crate::telemetry::{Outcome, Phase};
use crate::testing::Door;

/// How a run ended.
pub(crate) enum Attempt {
    /// Effect and record are committed, or the record alone.
    Recorded(HttpResponse, Arc<Record>),
    /// The effect is committed without a record, or nothing is.
    Answered(HttpResponse),
    /// Nothing is committed.
    Failed(Problem),
    /// Nothing is committed, or nobody knows, and the connection must be closed unseen.
    Abandoned(Problem),
    /// Somebody else recorded the key first; nothing of this run is left.
    Taken,
    /// Nothing is left, and another run may succeed.
    Again,
    /// The same, and somebody else may be recording the key.
    Overtaken,
}

/// Runs the handler under a claim.
pub(crate) async fn protected<C, A, F>(
    operation: &Operation<C>,
    keyed: &Keyed,
    ours: &mut Ours<C>,
    arguments: A,
    handler: F,
) -> Attempt
where
    C: Backend,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse,
{
    let connection = &mut *ours.connection;
    let places = keyed.name.places.enter("", C::address(connection));
    let deadline = Instant::now() + operation.policy.timeout;
    let response = match handle(operation, deadline, connection, arguments, handler).await {
        Ok(response) => response,
        Err(ended) => return ended,
    };
    let has_messages = places.has_messages();
    drop(places);
    let failed = has_failed(&response);
    if failed && !operation.policy.store.records(response.status().as_u16()) {
        undo(operation, connection).await;
        operation
            .tally
            .tell(Outcome::without_record(response.status()));
        return Attempt::Answered(response);
    }
    let (answer, stored) = match operation.capture(keyed.context(), deadline, response).await {
        Ok(captured) => captured,
        Err(problem) => {
            undo(operation, connection).await;
            return Attempt::Failed(problem);
        }
    };
    let record = operation.new_record(keyed, stored, ours.over_expired);
    let kept = Arc::clone(&record.stored);
    let recording = async {
        if failed {
            C::remember(connection, record).await
        } else if is_seeded(Defect::RecordOutsideTransaction) {
            record_apart::<C>(connection, record).await
        } else {
            C::record(connection, record).await
        }
    };
    let committed = operation.tally.timed(Phase::Record, recording).await;
    let committed = match is_seeded(Defect::CommitErrorIgnored) {
        true => Ok(()),
        false => committed,
    };
    match committed {
        Ok(()) => {
            if has_messages && !failed {
                operation.settings.bell.ring();
            }
            operation.tally.tell(Outcome::Executed);
            Attempt::Recorded(answer, kept)
        }
        Err(error) => not_committed(operation, &error),
    }
}

/// A seeded defect.
async fn record_apart<C: Backend>(
    connection: &mut C,
    record: NewRecord,
) -> Result<(), CommitError> {
    C::commit(connection).await?;
    let begun = C::begin(connection, None).await;
    begun.map_err(CommitError::Unknown)?;
    C::record(connection, record).await
}

/// Runs the handler in a plain transaction, for a request without a key.
pub(crate) async fn unprotected<C, A, F>(
    operation: &Operation<C>,
    connection: &mut C,
    arguments: A,
    handler: F,
) -> Attempt
where
    C: Backend,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse,
{
    let deadline = Instant::now() + operation.policy.timeout;
    let response = match handle(operation, deadline, connection, arguments, handler).await {
        Ok(response) => response,
        Err(ended) => return ended,
    };
    if has_failed(&response) {
        undo(operation, connection).await;
        operation
            .tally
            .tell(Outcome::without_record(response.status()));
        return Attempt::Answered(response);
    }
    match C::commit(connection).await {
        Ok(()) => {
            operation.tally.tell(Outcome::Unprotected);
            Attempt::Answered(response)
        }
        Err(error) => match not_committed(operation, &error) {
            // Without a key nobody can ask again.
            Attempt::Abandoned(problem) => Attempt::Abandoned(problem.without_retry()),
            ended => ended,
        },
    }
}

/// The handler's answer, or the end of the run where it gave none.
async fn handle<C, A, F>(
    operation: &Operation<C>,
    deadline: Instant,
    connection: &mut C,
    arguments: A,
    handler: F,
) -> Result<HttpResponse, Attempt>
where
    C: Backend,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse,
{
    let canceller = C::canceller(connection);
    let running = async {
        let response = handler(arguments, connection, &operation.request).await;
        Door::pass(&operation.request, operation.policy).await;
        response
    };
    let running = supervise(deadline, running);
    match operation.tally.timed(Phase::Handler, running).await {
        Ran::Finished(response) if Retry::is_asked_by(&response) => {
            undo(operation, connection).await;
            Err(Attempt::Again)
        }
        Ran::Finished(response) => match blocking::is_unread(&response) {
            None => Ok(response),
            Some(error) => {
                tracing::error!(
                    endpoint = operation.endpoint,
                    error,
                    "response not storable"
                );
                undo(operation, connection).await;
                Err(Attempt::Failed(Problem::response_not_storable()))
            }
        },
        Ran::Panicked => {
            tracing::error!(endpoint = operation.endpoint, "the handler panicked");
            C::abandon(connection, canceller).await;
            Err(Attempt::Abandoned(Problem::handler_failed()))
        }
        Ran::TimedOut => {
            tracing::error!(endpoint = operation.endpoint, "the handler timed out");
            C::abandon(connection, canceller).await;
            Err(Attempt::Abandoned(Problem::timed_out()))
        }
    }
}

/// An error status, or any `Err`: no effect of it is kept.
fn has_failed(response: &HttpResponse) -> bool {
    response.error().is_some() || response.status().as_u16() >= 400
}

/// Rolls back; a connection that cannot is closed by its pool.
async fn undo<C: Backend>(operation: &Operation<C>, connection: &mut C) {
    if let Err(error) = C::rollback(connection).await {
        tracing::warn!(endpoint = operation.endpoint, %error, "rollback failed");
    }
}

fn not_committed<C: Backend>(operation: &Operation<C>, error: &CommitError) -> Attempt {
    let (endpoint, why) = (&operation.endpoint, Chain(error));
    match error {
        CommitError::Taken => {}
        CommitError::Overtaken(_) => tracing::info!(endpoint, error = %why, "not committed"),
        _ => tracing::error!(endpoint, error = %why, "not committed"),
    }
    match error {
        CommitError::Taken => Attempt::Taken,
        CommitError::Contended(_) => Attempt::Again,
        CommitError::Overtaken(_) => Attempt::Overtaken,
        CommitError::RolledBack(_) => Attempt::Failed(Problem::handler_failed()),
        CommitError::Vanished(_) => Attempt::Failed(Problem::transaction_vanished()),
        CommitError::TooLarge(_) => Attempt::Failed(Problem::response_not_storable()),
        CommitError::Unknown(_) => Attempt::Abandoned(Problem::store_unavailable()),
    }
}
