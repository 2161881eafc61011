//! Statements about claims of other owners, whose leases have run out: who lists them, who takes them
//! to look into them, and who settles them.
//!
//! No SQL of one backend, no verdicts.

use std::time::Duration;

use diesel::QueryResult;
use diesel::prelude::Queryable;
use uuid::Uuid;

use super::{Leases, RELEASED, RERUN, changed, ended, recorded};
use crate::policy::Unresolved;
use crate::response::StoredResponse;
use crate::store::change::{self, Change, Table};
use crate::store::statement::{Piece, Statement, UnresolvedQuery, statement};

/// A row whose lease has run out.
#[derive(Debug, Queryable)]
pub struct UnresolvedRow {
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) endpoint: String,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) owner: Option<Vec<u8>>,
    unresolved: Option<String>,
    pub(crate) steps: Option<String>,
    pub(crate) request: Option<Vec<u8>>,
    pub(crate) attempts: i64,
    /// Milliseconds since the lease ended.
    pub(crate) since: i64,
    /// The lease that had ended, exactly.
    pub(crate) lease: i64,
}

impl UnresolvedRow {
    pub(crate) fn rule(&self) -> Unresolved {
        match self.unresolved.as_deref() {
            Some(RERUN | RELEASED) => Unresolved::Rerun,
            _ => Unresolved::Hold,
        }
    }
}

/// Which operations a worker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Those that a retry may run again, and whose request is kept.
    Complete,
    /// All others, save those that somebody has already released.
    Reconcile,
}

impl Duty {
    fn condition(self) -> &'static str {
        match self {
            Self::Complete => "unresolved <> 'hold' AND request IS NOT NULL",
            Self::Reconcile => {
                "(coalesce(unresolved, 'hold') = 'hold' OR unresolved = 'rerun' AND request IS NULL)"
            }
        }
    }
}

/// The longest pause between two looks of a worker at an operation.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Takes unresolved operations that are due, the longest unresolved first, and puts each off, twice
/// as long each time: several workers share them.
pub(crate) async fn due<C: Leases>(
    connection: &mut C,
    duty: Duty,
    pause: Duration,
    limit: u32,
) -> QueryResult<Vec<UnresolvedRow>> {
    let pause = statement![
        "CASE WHEN coalesce(attempts, 0) < 10 THEN ",
        Piece::milliseconds(pause.min(LONGEST_PAUSE)),
        " * (1 << coalesce(attempts, 0)) ELSE ",
        Piece::milliseconds(LONGEST_PAUSE),
        " END",
    ];
    let rows = statement![
        "SELECT id FROM idempotency_keys WHERE status IS NULL AND lease_expires_at <= ",
        Piece::Now,
        " AND coalesce(next_attempt_at <= ",
        Piece::Now,
        ", true) AND ",
        duty.condition(),
        " ORDER BY lease_expires_at LIMIT ",
        Piece::Number(limit.into()),
        Piece::SkipLocked,
    ];
    if C::ONE_WRITER && C::unresolved(connection, seek(&rows)).await?.is_empty() {
        return Ok(Vec::new());
    }
    let due = statement![
        "UPDATE idempotency_keys SET attempts = coalesce(attempts, 0) + 1, next_attempt_at = ",
        Piece::Later(pause),
    ];
    let change = Change {
        table: Table::Keys,
        rows,
        change: due,
    };
    let ask =
        async |connection: &mut C, query| C::unresolved(connection, UnresolvedQuery(query)).await;
    change::change_and_ask(connection, change, unresolved_columns(), ask).await
}

/// The unresolved operations, the longest unresolved first.
pub(crate) async fn unresolved<C: Leases>(
    connection: &mut C,
    limit: u32,
) -> QueryResult<Vec<UnresolvedRow>> {
    let first = statement![
        " ORDER BY lease_expires_at LIMIT ",
        Piece::Number(limit.into())
    ];
    select_unresolved(connection, first).await
}

/// This operation, if it is unresolved.
pub(crate) async fn unresolved_one<C: Leases>(
    connection: &mut C,
    id: [u8; 16],
) -> QueryResult<Option<UnresolvedRow>> {
    let one = statement![" AND id = ", id];
    Ok(select_unresolved(connection, one).await?.pop())
}

async fn select_unresolved<C: Leases>(
    connection: &mut C,
    which: Statement,
) -> QueryResult<Vec<UnresolvedRow>> {
    let unresolved = statement![
        "SELECT ",
        unresolved_columns(),
        " FROM idempotency_keys WHERE status IS NULL AND lease_expires_at <= ",
        Piece::Now,
        which,
    ];
    C::unresolved(connection, UnresolvedQuery(unresolved)).await
}

/// Whether there are any, without the lock that taking them needs.
fn seek(ids: &Statement) -> UnresolvedQuery {
    UnresolvedQuery(statement![
        "SELECT ",
        unresolved_columns(),
        " FROM idempotency_keys WHERE id",
        Piece::OneOf(ids.clone()),
    ])
}

fn unresolved_columns() -> Statement {
    statement![
        "scope, ",
        Piece::Key,
        ", endpoint, fingerprint, ",
        Piece::BytesOfId("owner"),
        ", unresolved, steps, request, ",
        Piece::Wide("coalesce(attempts, 0)"),
        ", ",
        Piece::Since("lease_expires_at"),
        ", ",
        Piece::Exact("lease_expires_at"),
    ]
}

/// What somebody has seen and gives a verdict on: this claim, and a lease of it that had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: [u8; 16],
    pub(crate) owner: [u8; 16],
    pub(crate) lease: i64,
}

/// Which row: nobody has worked on it since.
fn as_seen(seen: Seen) -> Statement {
    statement![
        ended(seen.id, seen.owner),
        " AND ",
        Piece::Exact("lease_expires_at"),
        " = ",
        Piece::Number(seen.lease),
    ]
}

/// Somebody knows how an unresolved operation ended. Its late owner does not find itself in the row.
pub(crate) async fn settle<C: Leases>(
    connection: &mut C,
    seen: Seen,
    response: &StoredResponse,
    retain: Duration,
) -> QueryResult<bool> {
    let settle = statement![recorded(response, retain), ", owner = NULL", as_seen(seen)];
    changed(C::execute(connection, settle).await)
}

/// Nobody can run an unresolved operation again from its request: it is for a reconciler.
pub(crate) async fn drop_request<C: Leases>(connection: &mut C, seen: Seen) -> QueryResult<bool> {
    let drop = statement!["UPDATE idempotency_keys SET request = NULL", as_seen(seen)];
    changed(C::execute(connection, drop).await)
}

/// Somebody knows that an unresolved operation may be run again, behind its finished steps, once. Its
/// late owner is none any more. The row stays, for the same request only: a call of the late owner may
/// still be on its way, with keys that are derived from this one.
pub(crate) async fn release<C: Leases>(connection: &mut C, seen: Seen) -> QueryResult<bool> {
    let release = statement![
        "UPDATE idempotency_keys SET unresolved = 'released', owner = ",
        Uuid::new_v4(),
        as_seen(seen)
    ];
    changed(C::execute(connection, release).await)
}
