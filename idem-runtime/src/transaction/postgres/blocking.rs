//! The same on a connection that blocks (libpq): one statement after the other, and no time-outs here.
//!
//! diesel reads libpq's own state of the transaction behind each statement, so that a COMMIT or ROLLBACK in
//! the handler's SQL is noticed.

use diesel::connection::{
    AnsiTransactionManager, SimpleConnection, TransactionManager, TransactionManagerStatus,
};
use diesel::result::Error;
use diesel::{PgConnection, QueryResult};

use super::super::{ended, is_open, only_ours, opening};
use super::{Failure, begin_sql};
use crate::policy::Isolation;
use crate::store::CommitError;

pub(crate) fn begin(
    connection: &mut PgConnection,
    isolation: Option<Isolation>,
) -> QueryResult<()> {
    opening(status(connection))?;
    connection.batch_execute(&begin_sql(isolation))
}

/// Refuses where no transaction is open.
pub(crate) fn inside(connection: &mut PgConnection) -> QueryResult<()> {
    is_open(status(connection))
}

/// Refuses where the handler has ended the transaction itself, as diesel has noticed: what it did has
/// committed by itself.
pub(crate) fn still_open(connection: &mut PgConnection) -> Result<(), CommitError> {
    match status(connection).transaction_depth() {
        Ok(None) => {
            if rollback(connection).is_err() {
                give_up(connection);
            }
            Err(CommitError::Vanished(Error::NotInTransaction))
        }
        _ => Ok(()),
    }
}

/// Runs these statements and COMMIT behind them. There must be at least one: COMMIT alone ends a failed
/// transaction without an error.
pub(crate) fn commit_with(
    connection: &mut PgConnection,
    statements: impl FnOnce(&mut PgConnection) -> QueryResult<()>,
) -> Result<(), Failure> {
    let committed = only_ours(status(connection))
        .and_then(|()| statements(connection))
        .and_then(|()| connection.batch_execute("COMMIT"));
    end(connection, committed)
}

/// Rolls back and runs these statements behind it. They commit on their own.
pub(crate) fn rollback_with(
    connection: &mut PgConnection,
    statements: impl FnOnce(&mut PgConnection) -> QueryResult<()>,
) -> Result<(), Failure> {
    let written = rollback(connection).and_then(|()| statements(connection));
    end(connection, written)
}

pub(crate) fn rollback(connection: &mut PgConnection) -> QueryResult<()> {
    connection.batch_execute("ROLLBACK")?;
    ended(status(connection));
    Ok(())
}

/// Rolls back after an error: see [`super::failed`].
fn end(connection: &mut PgConnection, outcome: QueryResult<()>) -> Result<(), Failure> {
    match outcome {
        Ok(()) => {
            ended(status(connection));
            Ok(())
        }
        Err(error) => {
            let rolled_back = rollback(connection).is_ok();
            if !rolled_back {
                give_up(connection);
            }
            Err(Failure { error, rolled_back })
        }
    }
}

/// Lets the pool close the connection when it comes back.
pub(crate) fn give_up(connection: &mut PgConnection) {
    status(connection).set_in_error();
}

fn status(connection: &mut PgConnection) -> &mut TransactionManagerStatus {
    AnsiTransactionManager::transaction_manager_status_mut(connection)
}
