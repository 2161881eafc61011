//! Changing rows that nobody else has locked: in one statement where the backend can, else in a short
//! transaction that finds and locks them first.
//!
//! No SQL of one backend, no decisions about which rows.

use diesel::QueryResult;
use diesel::result::Error;

use super::CommitError;
use super::lease::{Leases, UnresolvedRow};
use super::statement::{IdsQuery, Piece, Statement, UnresolvedQuery, statement};
use crate::policy::Isolation;

/// A change of rows of `idempotency_keys`.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// A query for their ids, which passes by what somebody else has locked.
    pub(super) ids: Statement,
    /// Up to its `WHERE`.
    pub(super) change: Statement,
}

impl Change {
    fn at_once(self) -> Statement {
        statement![self.change, " WHERE id", Piece::OneOf(self.ids)]
    }
}

/// Says how many rows it has changed.
pub(super) async fn change<C: Leases>(connection: &mut C, change: Change) -> QueryResult<usize> {
    if C::CHANGES_AT_ONCE {
        return C::execute(connection, change.at_once()).await;
    }
    let Change { ids, change } = change;
    find_first(connection, ids, async |connection: &mut C, these| {
        C::execute(connection, statement![change, these]).await
    })
    .await
}

/// Gives these columns of the rows that it has changed.
pub(super) async fn change_unresolved<C: Leases>(
    connection: &mut C,
    change: Change,
    columns: Statement,
) -> QueryResult<Vec<UnresolvedRow>> {
    if C::CHANGES_AT_ONCE {
        let change = statement![change.at_once(), " RETURNING ", columns];
        return C::unresolved(connection, UnresolvedQuery(change)).await;
    }
    let Change { ids, change } = change;
    find_first(
        connection,
        ids,
        async |connection: &mut C, these: Statement| {
            C::execute(connection, statement![change, these.clone()]).await?;
            let changed = statement!["SELECT ", columns, " FROM idempotency_keys", these];
            C::unresolved(connection, UnresolvedQuery(changed)).await
        },
    )
    .await
}

/// Finds and locks them, and then does this with the condition that names them, in one transaction. After an
/// error the transaction is left open, and the connection closed by its pool.
async fn find_first<C: Leases, T: Default>(
    connection: &mut C,
    ids: Statement,
    then: impl AsyncFnOnce(&mut C, Statement) -> QueryResult<T>,
) -> QueryResult<T> {
    C::begin(connection, Some(Isolation::ReadCommitted)).await?;
    let ids = C::ids(connection, IdsQuery(ids)).await?;
    if ids.is_empty() {
        C::rollback(connection).await?;
        return Ok(T::default());
    }
    let these = statement![" WHERE id IN (", Piece::Ids(ids.into()), ")"];
    let done = then(connection, these).await?;
    match C::commit(connection).await {
        Ok(()) => Ok(done),
        Err(CommitError::Taken) => Err(Error::RollbackTransaction),
        Err(
            CommitError::Contended(error)
            | CommitError::RolledBack(error)
            | CommitError::Vanished(error)
            | CommitError::Unknown(error),
        ) => Err(error),
    }
}
