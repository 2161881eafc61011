//! Changing rows that nobody else has locked: in one statement where the backend can, else in a short
//! transaction that finds and locks them first.
//!
//! No SQL of one backend, no decisions about which rows.

use diesel::QueryResult;

use super::CommitError;
use super::lease::Leases;
use super::statement::{IdsQuery, Piece, PositionsQuery, Statement, statement};
use crate::policy::Isolation;
use crate::transaction::is_conflict;

/// A change of rows.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) table: Table,
    /// A query for the primary keys, which passes by what somebody else has locked.
    pub(super) rows: Statement,
    /// Up to its `WHERE`.
    pub(super) change: Statement,
}

/// Whose rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Keys,
    Outbox,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Self::Keys => "idempotency_keys",
            Self::Outbox => "idempotency_outbox",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Keys => "id",
            Self::Outbox => "position",
        }
    }
}

impl Change {
    fn at_once(self) -> Statement {
        let rows = Piece::OneOf(self.rows);
        statement![self.change, " WHERE ", self.table.key(), rows]
    }
}

/// Says how many rows it has changed.
pub(super) async fn change<C: Leases>(connection: &mut C, change: Change) -> QueryResult<usize> {
    if C::CHANGES_AT_ONCE {
        return C::execute(connection, change.at_once()).await;
    }
    find_first(connection, &change, async |connection: &mut C, these| {
        C::execute(connection, statement![change.change.clone(), these]).await
    })
    .await
}

/// Asks for these columns of the rows that it has changed.
pub(super) async fn change_and_ask<C: Leases, T>(
    connection: &mut C,
    change: Change,
    columns: Statement,
    ask: impl AsyncFn(&mut C, Statement) -> QueryResult<Vec<T>>,
) -> QueryResult<Vec<T>> {
    if C::CHANGES_AT_ONCE {
        let change = statement![change.at_once(), " RETURNING ", columns];
        return ask(connection, change).await;
    }
    find_first(
        connection,
        &change,
        async |connection: &mut C, these: Statement| {
            let change_these = statement![change.change.clone(), these.clone()];
            C::execute(connection, change_these).await?;
            let name = change.table.name();
            ask(
                connection,
                statement!["SELECT ", columns.clone(), " FROM ", name, these],
            )
            .await
        },
    )
    .await
}

/// How often it is tried while the server rolls it back because of others.
const TRIES: u32 = 10;

/// Finds and locks them, and then does this with the condition that names them, in one transaction: again where
/// others were in the way. After any other error the transaction is left open, and the connection closed by its
/// pool.
async fn find_first<C: Leases, T: Default>(
    connection: &mut C,
    change: &Change,
    then: impl AsyncFn(&mut C, Statement) -> QueryResult<T>,
) -> QueryResult<T> {
    for _ in 1..TRIES {
        match find_once(connection, change, &then).await {
            Err(error) if is_conflict(&error) => C::rollback(connection).await?,
            done => return done,
        }
    }
    find_once(connection, change, &then).await
}

async fn find_once<C: Leases, T: Default>(
    connection: &mut C,
    change: &Change,
    then: &impl AsyncFn(&mut C, Statement) -> QueryResult<T>,
) -> QueryResult<T> {
    C::begin(connection, Some(Isolation::ReadCommitted)).await?;
    let rows = change.rows.clone();
    let found = match change.table {
        Table::Keys => Piece::Ids(C::ids(connection, IdsQuery(rows)).await?.into()),
        Table::Outbox => Piece::List(C::positions(connection, PositionsQuery(rows)).await?.into()),
    };
    if found.is_empty() {
        C::rollback(connection).await?;
        return Ok(T::default());
    }
    let these = statement![" WHERE ", change.table.key(), " IN (", found, ")"];
    let done = then(connection, these).await?;
    C::commit(connection)
        .await
        .map_err(CommitError::into_source)?;
    Ok(done)
}
