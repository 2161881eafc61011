//! Transactions on SQLite: `BEGIN IMMEDIATE`, and a savepoint opened at the claim.
//!
//! A trigger's `RAISE(ROLLBACK)` ends the whole transaction behind the handler's back, and what the
//! handler writes next commits by itself. The savepoint is gone then, so that releasing it tells.
//!
//! Everything here runs on the blocking thread.

use diesel::QueryResult;
use diesel::SqliteConnection;
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::result::Error;

use super::{ended, is_open, only_ours, opening};

pub(crate) fn begin(connection: &mut SqliteConnection) -> QueryResult<()> {
    opening(status(connection))?;
    connection.batch_execute("BEGIN IMMEDIATE")?;
    connection.batch_execute("SAVEPOINT idem_claim")
}

/// Refuses where no transaction is open, or where a trigger has ended it: only then does BEGIN succeed.
pub(crate) fn inside(connection: &mut SqliteConnection) -> QueryResult<()> {
    is_open(status(connection))?;
    match connection.batch_execute("BEGIN") {
        Ok(()) => {
            connection.batch_execute("ROLLBACK")?;
            Err(Error::NotInTransaction)
        }
        Err(_) => Ok(()),
    }
}

/// Proves that the transaction is the one that `begin` opened. The record follows, then `commit`.
pub(crate) fn release(connection: &mut SqliteConnection) -> QueryResult<()> {
    only_ours(status(connection))?;
    connection.batch_execute("RELEASE SAVEPOINT idem_claim")
}

pub(crate) fn commit(connection: &mut SqliteConnection) -> QueryResult<()> {
    connection.batch_execute("COMMIT")?;
    ended(status(connection));
    Ok(())
}

pub(crate) fn rollback(connection: &mut SqliteConnection) -> QueryResult<()> {
    connection.batch_execute("ROLLBACK")?;
    ended(status(connection));
    Ok(())
}

/// Ends the transaction of a handler that was dropped in the middle of it, for good: a statement of
/// it may be waiting behind this one for its turn, and would commit by itself.
pub(crate) fn abandon(connection: &mut SqliteConnection) -> QueryResult<()> {
    let rolled_back = rollback(connection);
    connection.batch_execute("PRAGMA query_only = ON")?;
    status(connection).set_in_error();
    rolled_back
}

/// Rolls back after an error. A connection whose ROLLBACK fails is given up: SQLite then has no
/// transaction open, or ends it when the file is closed.
pub(crate) fn failed(connection: &mut SqliteConnection, error: Error) -> Error {
    if rollback(connection).is_err() {
        status(connection).set_in_error();
    }
    error
}

fn status(connection: &mut SqliteConnection) -> &mut diesel::connection::TransactionManagerStatus {
    AnsiTransactionManager::transaction_manager_status_mut(connection)
}
