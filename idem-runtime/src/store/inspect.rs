//! Statements that only look: rows as an operator sees them, how many there are of a kind, and what time it is.
//!
//! No SQL of one backend, nothing that changes a row.

use diesel::QueryResult;
use diesel::prelude::Queryable;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};

use super::lease::Leases;
use super::outbox::Queue;
use super::statement::{BacklogQuery, Dialect, Piece, PositionsQuery, Statement, query, statement};
use crate::inspect::OperationState as State;

/// A row as an operator sees it, without its response.
#[derive(Debug, Queryable)]
pub struct OperationRow {
    pub(crate) id: Vec<u8>,
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) endpoint: String,
    pub(crate) state: String,
    pub(crate) status: Option<i32>,
    pub(crate) unresolved: Option<String>,
    pub(crate) steps: Option<String>,
    pub(crate) attempts: i64,
    pub(crate) body: Option<i64>,
    /// Milliseconds since it was recorded.
    pub(crate) recorded: Option<i64>,
    /// Milliseconds since it has expired.
    pub(crate) expired: Option<i64>,
    /// Milliseconds since its lease has ended.
    pub(crate) lease: Option<i64>,
}

query!(OperationsQuery: (
    Binary,
    Text,
    Text,
    Text,
    Text,
    Nullable<Integer>,
    Nullable<Text>,
    Nullable<Text>,
    BigInt,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Nullable<BigInt>,
));

/// Which rows.
#[derive(Debug, Default)]
pub(crate) struct Which<'a> {
    pub(crate) id: Option<[u8; 16]>,
    pub(crate) after: Option<[u8; 16]>,
    pub(crate) scope: Option<&'a str>,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) state: Option<State>,
    /// Neither steps nor the size of the body.
    pub(crate) is_brief: bool,
}

/// What a row of this state is like: each row is in one. The time is one that may bound an index.
fn is(state: State) -> Statement {
    let of_lease = |comparison| {
        statement![
            "status IS NULL AND owner IS NOT NULL AND lease_expires_at",
            Piece::Sql(comparison),
            Piece::Started,
        ]
    };
    match state {
        State::Recorded => statement![
            "status IS NOT NULL AND coalesce(expires_at > ",
            Piece::Started,
            ", true)"
        ],
        State::Expired => statement!["status IS NOT NULL AND expires_at <= ", Piece::Started],
        State::Running => of_lease(" > "),
        State::Unresolved => of_lease(" <= "),
        State::Stuck => {
            statement!["status IS NULL AND (owner IS NULL OR lease_expires_at IS NULL)"]
        }
    }
}

/// The rows in the order of their ids, at most `limit`.
pub(crate) async fn operations<C: Leases>(
    connection: &mut C,
    which: &Which<'_>,
    limit: u32,
) -> QueryResult<Vec<OperationRow>> {
    let mut pieces = vec![
        Piece::from("SELECT "),
        Piece::BytesOfId("id"),
        Piece::from(", scope, "),
        Piece::Key,
        Piece::from(", endpoint, CASE"),
    ];
    for state in State::ALL {
        let name = [" THEN '", state.name(), "'"].map(Piece::from);
        pieces.extend([Piece::from(" WHEN "), is(state).into()]);
        pieces.extend(name);
    }
    let (steps, size) = match which.is_brief {
        true => ("NULL", "NULL"),
        false => ("steps", "length(body)"),
    };
    pieces.extend([
        Piece::from(" ELSE '' END, status + 0, unresolved, "),
        Piece::from(steps),
        Piece::from(", "),
        Piece::Wide("coalesce(attempts, 0)"),
        Piece::from(", "),
        Piece::Wide(size),
    ]);
    for time in ["recorded_at", "expires_at", "lease_expires_at"] {
        pieces.extend([Piece::from(", "), Piece::Since(time)]);
    }
    pieces.push(Piece::from(" FROM idempotency_keys WHERE 1 = 1"));
    let text = |text: &str| Piece::Text(text.into());
    let conditions = [
        (" AND id = ", which.id.map(Piece::Id)),
        (" AND id > ", which.after.map(Piece::Id)),
        (" AND scope = ", which.scope.map(text)),
        (" AND endpoint = ", which.endpoint.map(text)),
        (" AND ", which.state.map(|state| is(state).into())),
    ];
    for (before, condition) in conditions {
        if let Some(condition) = condition {
            pieces.extend([Piece::from(before), condition]);
        }
    }
    pieces.extend([
        Piece::from(" ORDER BY id LIMIT "),
        Piece::Number(limit.into()),
    ]);
    C::operations(connection, OperationsQuery(Statement(pieces))).await
}

/// How many rows are in this state and not released, and for how many milliseconds the oldest has been.
pub(crate) async fn count<C: Queue>(
    connection: &mut C,
    state: State,
) -> QueryResult<(i64, Option<i64>)> {
    let since = match state {
        State::Recorded => "min(recorded_at)",
        State::Expired => "min(expires_at)",
        State::Running | State::Unresolved | State::Stuck => "min(lease_expires_at)",
    };
    let open = match state {
        // Somebody has said that it was not done: it waits for its client, and for nobody else.
        State::Unresolved => " AND coalesce(unresolved, '') <> 'released'",
        _ => "",
    };
    // On MySQL there is no index of pending rows alone; but every record expires, and nothing pending does.
    let bound = match state {
        State::Stuck => " AND expires_at IS NULL",
        _ => "",
    };
    let rows = statement![" FROM idempotency_keys WHERE ", is(state), open, bound];
    amount(connection, since, rows).await
}

/// How many messages are due, and for how many milliseconds the oldest has been.
pub(crate) async fn overdue<C: Queue>(connection: &mut C) -> QueryResult<(i64, Option<i64>)> {
    let rows = statement![
        " FROM idempotency_outbox WHERE sent_at IS NULL AND dead_at IS NULL AND available_at <= ",
        Piece::Started,
    ];
    amount(connection, "min(available_at)", rows).await
}

/// How many messages were given up, and how many milliseconds ago the first.
pub(crate) async fn dead<C: Queue>(connection: &mut C) -> QueryResult<(i64, Option<i64>)> {
    let rows = statement![" FROM idempotency_outbox WHERE dead_at IS NOT NULL"];
    amount(connection, "min(dead_at)", rows).await
}

async fn amount<C: Queue>(
    connection: &mut C,
    since: &'static str,
    rows: Statement,
) -> QueryResult<(i64, Option<i64>)> {
    let amount = statement!["SELECT count(*), ", Piece::Since(since), rows];
    let mut found = C::backlog(connection, BacklogQuery(amount)).await?;
    Ok(found.pop().unwrap_or_default())
}

/// Milliseconds since 1970.
pub(crate) async fn clock<C: Leases>(connection: &mut C) -> QueryResult<i64> {
    let clock = statement!["SELECT ", Piece::Clock];
    let mut found = C::positions(connection, PositionsQuery(clock)).await?;
    found.pop().ok_or(diesel::result::Error::NotFound)
}
