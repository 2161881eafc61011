//! Transactions on MySQL and MariaDB, with a savepoint opened at the claim.
//!
//! A deadlock ends the whole transaction, and so does a statement that changes a table's definition:
//! what the handler does next commits by itself. The savepoint is gone then, so that releasing it tells.
//!
//! Named locks are the session's, not the transaction's. They are released behind every end of a
//! transaction, and with the session.

#[cfg(feature = "mysql-blocking")]
pub(crate) mod blocking;

use diesel::QueryResult;
use diesel::connection::TransactionManagerStatus;
use diesel::mysql::Mysql;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_async::{
    AnsiTransactionManager, AsyncMysqlConnection, MysqlCancelToken, RunQueryDsl,
    SimpleAsyncConnection, TransactionManager,
};
use tokio::time::timeout;

use super::server::{CLEAN_UP, COMMITTING, Failure, OPENING, level};
use super::{answered, ended, is_conflict, is_open, no_answer, only_ours, opening};
use crate::policy::Isolation;
use crate::store::CommitError;

/// Counts the transaction that the caller is about to open, locks before it.
pub(crate) fn open(connection: &mut AsyncMysqlConnection) -> QueryResult<()> {
    opening(status(connection))
}

/// Refuses where no transaction is open.
pub(crate) fn inside(connection: &mut AsyncMysqlConnection) -> QueryResult<()> {
    is_open(status(connection))
}

/// Opens the transaction that is counted already.
pub(crate) async fn begin(
    connection: &mut AsyncMysqlConnection,
    isolation: Option<Isolation>,
) -> QueryResult<()> {
    let begin = begin_sql(isolation);
    answered(OPENING, connection.batch_execute(&begin)).await
}

fn begin_sql(isolation: Option<Isolation>) -> String {
    match isolation {
        None => "START TRANSACTION; SAVEPOINT idem_claim".to_owned(),
        Some(isolation) => format!(
            "SET TRANSACTION ISOLATION LEVEL {}; START TRANSACTION; SAVEPOINT idem_claim",
            level(isolation)
        ),
    }
}

/// Proves that the next answer will be that of the next question, and that the open transaction is the one that `begin`
/// opened: a handler that has dropped a query in the middle of it leaves its answer behind, and the driver takes
/// that for the next one, so that a savepoint that is gone would not be noticed. The savepoint comes last, so that nothing
/// is prepared or closed between it and the end.
pub(crate) async fn prove(connection: &mut AsyncMysqlConnection) -> QueryResult<()> {
    only_ours(status(connection))?;
    let proven = async {
        let word = Word::anew();
        let answer = InStep(word.clone()).get_result::<String>(connection);
        word.judge(&answer.await?)?;
        connection.batch_execute(PROVE).await
    };
    answered(COMMITTING, proven).await
}

const PROVE: &str = "RELEASE SAVEPOINT idem_claim";

/// Proves that the transaction is the one that `begin` opened, does this in it, and ends it.
///
/// Each statement is a message of its own. A node of a Galera cluster rolls a transaction back when another node's was
/// faster, also between two statements of one message. Then it tells nobody: the next one runs by itself, and a COMMIT
/// says that it was done (MariaDB 10.11.19).
pub(crate) async fn end_with(
    connection: &mut AsyncMysqlConnection,
    statements: &[&str],
) -> Result<(), CommitError> {
    if let Err(error) = prove(connection).await {
        return Err(failed(connection, error).await.judge_message());
    }
    for statement in statements {
        if let Err(failure) = send(connection, statement).await {
            return Err(failure.judge_message());
        }
    }
    end(connection).await
}

async fn send(connection: &mut AsyncMysqlConnection, statement: &str) -> Result<(), Failure> {
    match timeout(COMMITTING, connection.batch_execute(statement)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(failed(connection, error).await),
        Err(_) => Err(unknown(connection, no_answer())),
    }
}

/// The same behind [`prove`].
pub(crate) async fn end(connection: &mut AsyncMysqlConnection) -> Result<(), CommitError> {
    let ended = match send(connection, "COMMIT").await {
        Ok(()) => match unlock(connection).await {
            Ok(()) => Ok(()),
            Err(error) => Err(unknown(connection, error)),
        },
        Err(failure) => Err(failure),
    };
    ended.map_err(Failure::judge_message)
}

/// Behind the end of a transaction.
pub(crate) async fn unlock(connection: &mut AsyncMysqlConnection) -> QueryResult<()> {
    let word = Word::anew();
    let answer = Unlock(word.clone()).get_result::<(String, Option<i64>)>(connection);
    word.judge(&answered(CLEAN_UP, answer).await?.0)?;
    ended(status(connection));
    Ok(())
}

/// What is nobody else's: an answer that has it is the answer to the question that has it. (A number would not do: how
/// wide it is to be read is settled when a question is prepared, before there is one.)
#[derive(Clone)]
struct Word(String);

impl Word {
    fn anew() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    fn judge(&self, answer: &str) -> QueryResult<()> {
        if answer == self.0 {
            return Ok(());
        }
        let message = "the answer of another question is still there".to_owned();
        Err(Error::DatabaseError(
            DatabaseErrorKind::Unknown,
            Box::new(message),
        ))
    }
}

/// Gives a word back.
#[derive(QueryId)]
struct InStep(Word);

impl Query for InStep {
    type SqlType = Text;
}

impl QueryFragment<Mysql> for InStep {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql("SELECT CAST(");
        out.push_bind_param::<Text, _>(&self.0.0)?;
        out.push_sql(" AS char)");
        Ok(())
    }
}

/// Gives a word back, and says how many locks there were.
#[derive(QueryId)]
struct Unlock(Word);

impl Query for Unlock {
    type SqlType = (Text, Nullable<BigInt>);
}

impl QueryFragment<Mysql> for Unlock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql("SELECT CAST(");
        out.push_bind_param::<Text, _>(&self.0.0)?;
        out.push_sql(" AS char), RELEASE_ALL_LOCKS()");
        Ok(())
    }
}

pub(crate) async fn rollback(connection: &mut AsyncMysqlConnection) -> QueryResult<()> {
    answered(CLEAN_UP, connection.batch_execute("ROLLBACK")).await?;
    unlock(connection).await
}

/// Rolls back after an error: one of COMMIT is a rollback, and a lock that was not waited for any
/// longer (1205) leaves the transaction open.
pub(crate) async fn failed(connection: &mut AsyncMysqlConnection, error: Error) -> Failure {
    match rollback(connection).await {
        Ok(()) => Failure {
            error,
            rolled_back: true,
        },
        Err(_) => unknown(connection, error),
    }
}

fn unknown(connection: &mut AsyncMysqlConnection, error: Error) -> Failure {
    give_up(connection);
    Failure {
        error,
        rolled_back: false,
    }
}

impl Failure {
    /// The error of what was asked first on a connection. One that answers nothing any more was closed
    /// before, and another one may do.
    fn of_first(self) -> Error {
        match (self.rolled_back, self.error) {
            (false, Error::DatabaseError(DatabaseErrorKind::Unknown, information)) => {
                Error::DatabaseError(DatabaseErrorKind::ClosedConnection, information)
            }
            (_, error) => error,
        }
    }

    /// What it means on this backend, which tells of a failed statement by its message only.
    pub(crate) fn judge_message(self) -> CommitError {
        match &self.error {
            Error::DatabaseError(DatabaseErrorKind::Unknown, information)
                if self.rolled_back && information.message().contains("idem_claim") =>
            {
                CommitError::Vanished(self.error)
            }
            // Neither the driver nor the server lets a part of such a message through.
            Error::DatabaseError(DatabaseErrorKind::Unknown, information)
                if is_too_large(information.message()) =>
            {
                CommitError::TooLarge(self.error)
            }
            error if self.rolled_back && is_conflict(error) => CommitError::Overtaken(self.error),
            _ => self.judge(|error| {
                matches!(
                    error,
                    Error::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
                        if information.message().contains("PRIMARY")
                )
            }),
        }
    }
}

/// How the driver and the server (1153) say that a message is larger than `max_allowed_packet`.
fn is_too_large(message: &str) -> bool {
    message.contains("packet too large") || message.contains("'max_allowed_packet'")
}

/// The error of what was asked first on a connection: see [`Failure::of_first`].
pub(crate) async fn refused(connection: &mut AsyncMysqlConnection, error: Error) -> Error {
    failed(connection, error).await.of_first()
}

/// Stops the statement that a dropped handler left running, and gives the connection up: an answer of
/// that statement may be on its way, so that nothing can be asked here any more. The server rolls back
/// when the session has ended.
pub(crate) async fn abandon(connection: &mut AsyncMysqlConnection, canceller: MysqlCancelToken) {
    give_up(connection);
    cancel(canceller).await;
}

/// Stops a statement whose connection is gone: the server would only notice at the end of it.
pub(crate) fn stop(canceller: MysqlCancelToken) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(cancel(canceller));
    }
}

async fn cancel(canceller: MysqlCancelToken) {
    match timeout(CLEAN_UP, canceller.cancel_query()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a statement could not be cancelled"),
        Err(_) => tracing::warn!("a statement could not be cancelled in time"),
    }
}

/// Until [`trust`], the pool closes the connection when it comes back: whoever waits for an answer may be
/// dropped, and then it is still on its way.
pub(crate) fn doubt(connection: &mut AsyncMysqlConnection) -> TransactionManagerStatus {
    let before = std::mem::take(status(connection));
    give_up(connection);
    before
}

pub(crate) fn trust(connection: &mut AsyncMysqlConnection, before: TransactionManagerStatus) {
    *status(connection) = before;
}

/// Lets the pool close the connection when it comes back.
pub(crate) fn give_up(connection: &mut AsyncMysqlConnection) {
    status(connection).set_in_error();
}

fn status(connection: &mut AsyncMysqlConnection) -> &mut TransactionManagerStatus {
    AnsiTransactionManager::transaction_manager_status_mut(connection)
}
