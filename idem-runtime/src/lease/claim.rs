//! From a named operation to a claim that is committed and ours, new or taken over, or to the word
//! that it is somebody else's.
//!
//! No SQL, no handlers.

use std::sync::Arc;

use tokio::time::Instant;
use uuid::Uuid;

use super::holding::Holding;
use super::steps::{Log, Steps};
use super::{attempt, heartbeat, kept};
use crate::claim::{self, Ours, Patience, Settled};
use crate::defects::{Defect, is_seeded};
use crate::inflight::First;
use crate::operation::{Chain, Keyed, Operation, Refusal};
use crate::policy::{LeasePolicy, Resume};
use crate::problem::Problem;
use crate::store::lease::{self, Held, State};
use crate::store::{Backend, CommitError, Record};
use crate::telemetry::{Phase, unreadable};

/// How often somebody else may get in between before this looks like an error.
const LOSSES: u32 = 5;

/// The word on an operation.
pub(super) enum Claimed {
    Ours(Holding),
    /// There is a record, of whatever fingerprint.
    Recorded(Arc<Record>),
}

/// How an attempt to get hold of the claim ended.
enum Tried {
    Ours(Holding),
    /// Somebody else got in between: whoever has the place asks again.
    Taken(First),
    /// The store has rolled the claim back, because of others or because it refuses it.
    RolledBack(First),
}

/// Claims, or says why not. The steps of a claim that was taken over are told what is finished.
pub(super) async fn settle<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    steps: &Steps<C>,
    patience: &mut Patience,
) -> Result<Claimed, Refusal> {
    let mut place = None;
    let mut is_refused = false;
    let mut tries = 0;
    loop {
        let held = Held {
            id: keyed.claim.id.row,
            owner: Uuid::new_v4(),
            length: lease.length,
        };
        tries += 1;
        if tries % LOSSES == 0 {
            if is_refused {
                return Err(Problem::store_unavailable().into());
            }
            // Somebody is at it, each time we look.
            drop(place.take());
            patience.pause(operation, keyed).await?;
        }
        let tried = match claim::settle(operation, keyed, place.take(), patience).await? {
            Settled::Recorded(record) => return Ok(Claimed::Recorded(record)),
            Settled::Ours(ours) => pend(operation, keyed, lease, held, steps, ours).await?,
            Settled::Stale(state, first)
                if state.may_rerun(lease.unresolved) || is_seeded(Defect::StaleLeaseTaken) =>
            {
                take_over(operation, keyed, lease, held, steps, state, first).await?
            }
            Settled::Stale(..) => return Err(Problem::unresolved().into()),
        };
        (place, is_refused) = match tried {
            Tried::Ours(holding) => return Ok(Claimed::Ours(holding)),
            Tried::Taken(first) => (Some(first), false),
            Tried::RolledBack(first) => (Some(first), true),
        };
    }
}

/// Commits the pending row in the transaction of the claim. From then on others find it in the
/// database, and the place in this process's table is free for who asks next.
async fn pend<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    held: Held,
    steps: &Steps<C>,
    ours: Ours<C>,
) -> Result<Tried, Problem> {
    let (mut connection, over_expired, first) = ours.into_parts();
    let request = match lease.resume {
        Resume::Background => Some(kept::write(operation, keyed)?),
        Resume::Client => None,
    };
    let pending = lease::pending(
        &keyed.claim,
        &operation.endpoint,
        keyed.fingerprint.as_bytes(),
        &held,
        lease.unresolved,
        request,
        over_expired,
    );
    let since = Instant::now();
    let pending = C::pend(&mut **connection, pending);
    let committed = operation.tally.timed(Phase::Lease, pending).await;
    drop(connection);
    match committed {
        Ok(()) => {}
        Err(CommitError::Taken) => return Ok(Tried::Taken(first)),
        Err(error) => {
            let chain = Chain(&error);
            tracing::error!(endpoint = operation.endpoint, error = %chain, "not claimed");
            match error {
                CommitError::Contended(_) => return Ok(Tried::RolledBack(first)),
                CommitError::Overtaken(_) => return Ok(Tried::Taken(first)),
                CommitError::Unknown(_) if is_ours(operation, held).await? => {}
                _ => return Err(Problem::store_unavailable()),
            }
        }
    }
    let fingerprint = keyed.fingerprint.as_bytes().to_vec();
    let holding = hold(operation, lease, held, since, fingerprint, true).await?;
    steps.begin(&holding, None);
    first.elsewhere();
    Ok(Tried::Ours(holding))
}

/// Whether a claim whose COMMIT was not answered is there.
async fn is_ours<C: Backend>(operation: &Operation<C>, held: Held) -> Result<bool, Problem> {
    let state = async |connection: &mut C| lease::state(connection, held.id).await;
    let (_, state) = operation.reach().ask(state).await?;
    Ok(state.is_some_and(|state| state.is_of(&held)))
}

async fn take_over<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    held: Held,
    steps: &Steps<C>,
    stale: State,
    first: First,
) -> Result<Tried, Problem> {
    let Some(owner) = stale.owner() else {
        return Err(Problem::unresolved());
    };
    let take = async |connection: &mut C| {
        let since = Instant::now();
        let taken = lease::take_over(connection, &held, lease.unresolved, owner).await?;
        Ok((since, taken))
    };
    let mut reach = operation.reach();
    let taking = reach.ask(take);
    let (connection, (since, taken)) = operation.tally.timed(Phase::Lease, taking).await?;
    drop(connection);
    let Some(finished) = taken else {
        return Ok(Tried::Taken(first));
    };
    let holding = hold(
        operation,
        lease,
        held,
        since,
        stale.fingerprint.clone(),
        false,
    )
    .await?;
    let log = Log::read(&finished.unwrap_or_default(), |line| {
        let packing = &operation.settings.packing;
        packing.unpack_step(holding.context(keyed), line)
    });
    match log {
        Ok(log) => steps.begin(&holding, Some(log)),
        Err(error) => {
            drop(holding);
            match error.is_of_the_process() {
                true => attempt::withdraw(operation, lease, held, false).await,
                false => _ = attempt::leave(operation, held).await,
            }
            unreadable(&operation.endpoint, &error);
            return Err(error.problem_or(Problem::progress_unreadable));
        }
    }
    operation.tally.taken_over();
    first.elsewhere();
    Ok(Tried::Ours(holding))
}

/// Lets the heartbeat keep the claim. A claim that took so long to be answered that it may not be relied on any more is
/// let go: nothing has been done under it.
async fn hold<C: Backend>(
    operation: &Operation<C>,
    lease: LeasePolicy,
    held: Held,
    since: Instant,
    fingerprint: Vec<u8>,
    is_new: bool,
) -> Result<Holding, Problem> {
    if heartbeat::is_fresh(&held, since) {
        match operation.settings.heart.keep(held, fingerprint, since) {
            Ok(holding) => return Ok(holding),
            Err(error) => {
                tracing::error!(endpoint = operation.endpoint, %error, "no thread for the heartbeat");
            }
        }
    } else {
        tracing::error!(
            endpoint = operation.endpoint,
            "a claim was answered too late"
        );
    }
    attempt::withdraw(operation, lease, held, is_new).await;
    Err(Problem::store_unavailable())
}
