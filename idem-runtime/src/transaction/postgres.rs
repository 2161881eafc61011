//! Transactions on PostgreSQL.

use std::time::Duration;

use diesel::QueryResult;
use diesel::connection::TransactionManagerStatus;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, SimpleAsyncConnection, TransactionManager,
};
use tokio::time::timeout;
use tokio_postgres::{CancelToken, NoTls};

use super::{ended, only_ours, opening};
use crate::policy::Isolation;
use crate::store::CommitError;

/// How long a server may take to cancel a statement, and to roll back.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// How long it may take to open a transaction, and to look into our own table.
pub(crate) const OPENING: Duration = Duration::from_secs(10);

/// How long it may take to write a record and to commit. After that nobody knows.
pub(crate) const COMMITTING: Duration = Duration::from_secs(30);

/// Gives a server up that does not answer. Whoever calls this has counted the transaction as open, or
/// gives the connection up as well.
pub(crate) async fn answered<T>(
    limit: Duration,
    answer: impl Future<Output = QueryResult<T>>,
) -> QueryResult<T> {
    timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(no_answer()))
}

fn no_answer() -> Error {
    let message = "the database did not answer in time".to_owned();
    Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message))
}

pub(crate) fn begin_sql(isolation: Option<Isolation>) -> String {
    match isolation {
        None => "BEGIN".to_owned(),
        Some(isolation) => format!("BEGIN ISOLATION LEVEL {}", level(isolation)),
    }
}

fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// Counts the transaction whose BEGIN the caller sends next, alone or beside other statements.
pub(crate) fn open(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    opening(status(connection))
}

/// Sends these statements and COMMIT as one message. The server runs them in this order and none
/// behind one that failed, so that COMMIT never comes without them.
///
/// There must be at least one statement: COMMIT alone ends a failed transaction without an error.
pub(crate) async fn commit_with(
    connection: &mut AsyncPgConnection,
    statements: &str,
) -> Result<(), Failure> {
    commit_message(connection, &format!("{statements}; COMMIT")).await
}

/// Sends COMMIT alone, after a statement that is known to have succeeded.
pub(crate) async fn commit_after_success(
    connection: &mut AsyncPgConnection,
) -> Result<(), Failure> {
    commit_message(connection, "COMMIT").await
}

async fn commit_message(connection: &mut AsyncPgConnection, message: &str) -> Result<(), Failure> {
    if let Err(error) = only_ours(status(connection)) {
        return Err(failed(connection, error).await);
    }
    ending(connection, message).await
}

/// Sends a message that ends the transaction. Without an answer nobody knows whether it did, and a
/// ROLLBACK that is answered later would prove nothing.
async fn ending(connection: &mut AsyncPgConnection, message: &str) -> Result<(), Failure> {
    match timeout(COMMITTING, connection.batch_execute(message)).await {
        Ok(Ok(())) => {
            ended(status(connection));
            Ok(())
        }
        Ok(Err(error)) => Err(failed(connection, error).await),
        Err(_) => {
            give_up(connection);
            Err(Failure {
                error: no_answer(),
                rolled_back: false,
            })
        }
    }
}

/// Rolls back and then sends these statements, in one message. They commit on their own.
pub(crate) async fn rollback_with(
    connection: &mut AsyncPgConnection,
    statements: &str,
) -> Result<(), Failure> {
    ending(connection, &format!("ROLLBACK; {statements}")).await
}

pub(crate) async fn rollback(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    answered(CLEAN_UP, connection.batch_execute("ROLLBACK")).await?;
    ended(status(connection));
    Ok(())
}

/// An error, and whether the server has rolled everything back since.
pub(crate) struct Failure {
    error: Error,
    rolled_back: bool,
}

/// Rolls back after an error. A server that answers has not committed: an error of COMMIT itself is
/// a rollback, and ROLLBACK outside a transaction is only a warning.
pub(crate) async fn failed(connection: &mut AsyncPgConnection, error: Error) -> Failure {
    let rolled_back = rollback(connection).await.is_ok();
    if !rolled_back {
        give_up(connection);
    }
    Failure { error, rolled_back }
}

impl Failure {
    /// What the failure means for a transaction that writes into `table`.
    pub(crate) fn judge(self, table: &str) -> CommitError {
        match &self.error {
            Error::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
                if information.table_name() == Some(table) =>
            {
                CommitError::Taken
            }
            Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => {
                CommitError::Contended(self.error)
            }
            // A deadlock (40P01) is among these: diesel-async drops the SQLSTATE.
            Error::DatabaseError(DatabaseErrorKind::Unknown, _) if self.rolled_back => {
                CommitError::Contended(self.error)
            }
            _ if self.rolled_back => CommitError::RolledBack(self.error),
            _ => CommitError::Unknown(self.error),
        }
    }
}

/// Stops the statement that a dropped handler left running, and rolls back. The cancel request may
/// still arrive after this, so the connection is given up in any case.
pub(crate) async fn abandon(connection: &mut AsyncPgConnection, canceller: CancelToken) {
    match timeout(CLEAN_UP, canceller.cancel_query(NoTls)).await {
        Ok(Ok(())) => {}
        // A server that insists on TLS refuses a request without it.
        Ok(Err(error)) => tracing::warn!(%error, "a statement could not be cancelled"),
        Err(_) => tracing::warn!("a statement could not be cancelled in time"),
    }
    if let Err(error) = rollback(connection).await {
        tracing::warn!(%error, "a transaction could not be rolled back; its connection is closed");
    }
    give_up(connection);
}

/// Lets the pool close the connection when it comes back.
pub(crate) fn give_up(connection: &mut AsyncPgConnection) {
    status(connection).set_in_error();
}

fn status(connection: &mut AsyncPgConnection) -> &mut TransactionManagerStatus {
    AnsiTransactionManager::transaction_manager_status_mut(connection)
}
