//! The statements of lease mode. A pending row is a claim; each statement that changes one names its
//! owner, and what it did not find it has not changed: somebody else holds the claim, or it is over.
//!
//! No SQL of one backend, no decisions about what a row means for a request.

mod state;
mod unresolved;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use diesel::QueryResult;
use uuid::Uuid;

use super::change::{self, Change, Table};
use super::inspect::{OperationRow, OperationsQuery};
use super::statement::{
    IdsQuery, Piece, PositionsQuery, StateQuery, Statement, StepsQuery, UnresolvedQuery, statement,
};
use super::{Claim, CommitError, Store};
use crate::defects::{Defect, is_seeded};
use crate::policy::Unresolved;
use crate::response::StoredResponse;

pub(crate) use state::{State, state};
pub(crate) use unresolved::{
    Duty, Seen, UnresolvedRow, drop_request, due, release, settle, unresolved, unresolved_one,
};

/// What lease mode asks of a backend.
pub trait Leases: Store {
    /// Whether one statement can find rows that nobody has locked, change them, and give them back.
    const CHANGES_AT_ONCE: bool;

    /// Writes a pending row into the transaction that a claim has opened, and commits.
    fn pend(
        connection: &mut Self,
        pending: Pending,
    ) -> impl Future<Output = Result<(), CommitError>>;

    /// Makes the statements that commit by themselves on this connection READ COMMITTED, whatever the
    /// database's default: each is about one row, and knows whose it is.
    fn read_committed(connection: &mut Self) -> impl Future<Output = QueryResult<()>>;

    /// Runs one statement, in the open transaction or by itself, and says how many rows it changed.
    fn execute(
        connection: &mut Self,
        statement: Statement,
    ) -> impl Future<Output = QueryResult<usize>>;

    /// Runs one statement behind the others of the open transaction, and commits if it changed a row: only
    /// where both are of the transaction that was opened. Otherwise nothing of the transaction is left.
    fn conclude(
        connection: &mut Self,
        statement: Statement,
    ) -> impl Future<Output = Result<bool, CommitError>>;

    fn ids(
        connection: &mut Self,
        query: IdsQuery,
    ) -> impl Future<Output = QueryResult<Vec<Vec<u8>>>>;

    fn positions(
        connection: &mut Self,
        query: PositionsQuery,
    ) -> impl Future<Output = QueryResult<Vec<i64>>>;

    fn steps(
        connection: &mut Self,
        query: StepsQuery,
    ) -> impl Future<Output = QueryResult<Vec<Option<String>>>>;

    fn states(
        connection: &mut Self,
        query: StateQuery,
    ) -> impl Future<Output = QueryResult<Vec<State>>>;

    fn unresolved(
        connection: &mut Self,
        query: UnresolvedQuery,
    ) -> impl Future<Output = QueryResult<Vec<UnresolvedRow>>>;

    fn operations(
        connection: &mut Self,
        query: OperationsQuery,
    ) -> impl Future<Output = QueryResult<Vec<OperationRow>>>;

    /// Stops, from elsewhere, the statement of a step that was dropped in the middle of it.
    fn stop(canceller: Self::Canceller);
}

/// Who holds a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) id: [u8; 16],
    /// The fencing token.
    pub(crate) owner: Uuid,
    /// How long the claim is trusted without a renewal.
    pub(crate) length: Duration,
}

/// A pending row to be written.
#[derive(Debug)]
pub struct Pending {
    pub(crate) id: [u8; 16],
    pub(crate) insert: Statement,
    pub(crate) over_expired: bool,
}

const NULL: Piece = Piece::Sql("NULL");

const RERUN: &str = "rerun";
/// Somebody has said that the operation may be run again although steps of it are finished.
const RELEASED: &str = "released";

/// The pending row of a new claim.
pub(crate) fn pending(
    claim: &Claim,
    endpoint: &str,
    fingerprint: &[u8],
    held: &Held,
    rule: Unresolved,
    request: Option<Bytes>,
    over_expired: bool,
) -> Pending {
    let insert = statement![
        "INSERT INTO idempotency_keys (id, scope, ",
        Piece::Key,
        ", endpoint, fingerprint, owner, lease_expires_at, unresolved, request) VALUES (",
        held.id,
        ", ",
        Piece::Text(Arc::clone(&claim.scope)),
        ", ",
        Piece::Text(Arc::clone(&claim.key)),
        ", ",
        Piece::Text(endpoint.into()),
        ", ",
        Piece::Bytes(Bytes::copy_from_slice(fingerprint)),
        ", ",
        held.owner,
        ", ",
        Piece::later(held.length),
        ", ",
        literal(rule),
        ", ",
        request.map_or(NULL, Piece::Bytes),
        ")",
    ];
    Pending {
        id: held.id,
        insert,
        over_expired,
    }
}

fn literal(rule: Unresolved) -> &'static str {
    match rule {
        Unresolved::Hold => "'hold'",
        Unresolved::Rerun => "'rerun'",
    }
}

/// Which row: still pending, and still theirs.
fn held_by(held: &Held) -> Statement {
    if is_seeded(Defect::FenceSkipped) {
        return statement![" WHERE id = ", held.id, " AND status IS NULL"];
    }
    statement![
        " WHERE id = ",
        held.id,
        " AND owner = ",
        held.owner,
        " AND status IS NULL"
    ]
}

/// Which row: still pending, still the one that was seen, and nobody is trusted to be working on it.
fn ended(id: [u8; 16], owner: [u8; 16]) -> Statement {
    statement![
        " WHERE id = ",
        id,
        " AND owner = ",
        owner,
        " AND status IS NULL AND lease_expires_at <= ",
        Piece::Now
    ]
}

/// Makes a claim that has run out ours, and gives what its steps have left. What its former owner
/// commits later finds another owner; what it has committed until now is seen. From now on our rule is
/// the row's: that somebody has released it was for this once.
pub(crate) async fn take_over<C: Leases>(
    connection: &mut C,
    held: &Held,
    rule: Unresolved,
    stale: [u8; 16],
) -> QueryResult<Option<Option<String>>> {
    // Whoever has the row locked at this moment is working on it, and is not waited for.
    let rows = statement![
        "SELECT id FROM idempotency_keys",
        ended(held.id, stale),
        Piece::SkipLocked,
    ];
    let take = statement![
        "UPDATE idempotency_keys SET owner = ",
        held.owner,
        ", lease_expires_at = ",
        Piece::later(held.length),
        ", unresolved = ",
        literal(rule),
    ];
    let change = Change {
        table: Table::Keys,
        rows,
        change: take,
    };
    match change::change(connection, change).await? {
        0 => Ok(None),
        // It may be somebody else's again.
        _ => {
            let steps = steps_of(held);
            Ok(C::steps(connection, StepsQuery(steps)).await?.pop())
        }
    }
}

/// What a renewal has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// The claim is trusted anew.
    Done,
    /// It is ours, and its row is locked at this moment, by a step of ours that commits.
    Busy,
    /// Somebody else has it, or it is over.
    Taken,
}

/// Trusts the claim anew, from now on. Waits for nobody: it shares its connection with the renewals of
/// others.
pub(crate) async fn renew<C: Leases>(connection: &mut C, held: &Held) -> QueryResult<Renewal> {
    let rows = statement![
        "SELECT id FROM idempotency_keys",
        held_by(held),
        Piece::SkipLocked
    ];
    let renew = statement![
        "UPDATE idempotency_keys SET lease_expires_at = ",
        Piece::later(held.length),
    ];
    let change = Change {
        table: Table::Keys,
        rows,
        change: renew,
    };
    if changed(change::change(connection, change).await)? {
        return Ok(Renewal::Done);
    }
    let found = state(connection, held.id).await?;
    Ok(match found {
        Some(state) if state.is_of(held) && state.is_pending() => Renewal::Busy,
        _ => Renewal::Taken,
    })
}

/// Writes the response, and with that ends the claim.
pub(crate) async fn record<C: Leases>(
    connection: &mut C,
    held: &Held,
    response: &StoredResponse,
    retain: Duration,
) -> QueryResult<bool> {
    let record = statement![recorded(response, retain), held_by(held)];
    changed(C::execute(connection, record).await)
}

/// The kept request has done its duty, and goes.
fn recorded(response: &StoredResponse, retain: Duration) -> Statement {
    statement![
        "UPDATE idempotency_keys SET status = ",
        Piece::Number(response.status.into()),
        ", headers = ",
        Piece::Text(response.headers.as_str().into()),
        ", body = ",
        response.body.clone().map_or(NULL, Piece::Bytes),
        ", recorded_at = ",
        Piece::Now,
        ", expires_at = ",
        Piece::later(retain),
        ", lease_expires_at = NULL, request = NULL",
    ]
}

/// Adds a finished step by itself. Whoever finishes a step is alive: the claim is trusted anew.
pub(crate) async fn finish_step<C: Leases>(
    connection: &mut C,
    held: &Held,
    line: &str,
) -> QueryResult<bool> {
    changed(C::execute(connection, step(held, line)).await)
}

/// Adds a finished step to the work of its transaction, and commits. This is also the proof that the
/// work is the owner's.
pub(crate) async fn commit_step<C: Leases>(
    connection: &mut C,
    held: &Held,
    line: &str,
) -> Result<bool, CommitError> {
    C::conclude(connection, step(held, line)).await
}

fn step(held: &Held, line: &str) -> Statement {
    statement![
        "UPDATE idempotency_keys SET steps = ",
        Piece::Joined("coalesce(steps, '')", line.into()),
        ", lease_expires_at = ",
        Piece::later(held.length),
        held_by(held),
    ]
}

/// What the finished steps of a claim that is ours have left.
pub(crate) async fn steps<C: Leases>(
    connection: &mut C,
    held: &Held,
) -> QueryResult<Option<String>> {
    let found = C::steps(connection, StepsQuery(steps_of(held)))
        .await?
        .pop();
    Ok(found.flatten())
}

fn steps_of(held: &Held) -> Statement {
    statement!["SELECT steps FROM idempotency_keys", held_by(held)]
}

/// Forgets a claim of which no step is finished.
pub(crate) async fn forget<C: Leases>(connection: &mut C, held: &Held) -> QueryResult<bool> {
    let forget = statement![
        "DELETE FROM idempotency_keys",
        held_by(held),
        " AND steps IS NULL",
    ];
    changed(C::execute(connection, forget).await)
}

/// Ends the lease before its time: nobody is working on the operation any more. The owner is another
/// one from now on, so that a renewal that is still under way is too late.
pub(crate) async fn end<C: Leases>(connection: &mut C, held: &Held) -> QueryResult<bool> {
    let end = statement![ended_now(), held_by(held)];
    changed(C::execute(connection, end).await)
}

/// Ends the lease before its time, and says that the operation may be run again behind its finished
/// steps, once, if somebody asks for it.
pub(crate) async fn give_back<C: Leases>(connection: &mut C, held: &Held) -> QueryResult<bool> {
    let released = ", unresolved = 'released', request = NULL";
    let give_back = statement![ended_now(), released, held_by(held)];
    changed(C::execute(connection, give_back).await)
}

/// Ends the lease before its time, and leaves the operation to clients and to a reconciler.
pub(crate) async fn leave<C: Leases>(connection: &mut C, held: &Held) -> QueryResult<bool> {
    let leave = statement![ended_now(), ", request = NULL", held_by(held)];
    changed(C::execute(connection, leave).await)
}

fn ended_now() -> Statement {
    statement![
        "UPDATE idempotency_keys SET lease_expires_at = ",
        Piece::Now,
        ", owner = ",
        Uuid::new_v4(),
    ]
}

fn changed(rows: QueryResult<usize>) -> QueryResult<bool> {
    rows.map(|rows| rows > 0)
}
