//! The same on a connection that blocks (libmysqlclient): one question after the other, and no time-outs here.
//!
//! What MySQL does not prepare goes through `batch_execute`, which takes three round trips and has no kinds of
//! errors; everything else is prepared.

use diesel::connection::{
    AnsiTransactionManager, SimpleConnection, TransactionManager, TransactionManagerStatus,
};
use diesel::mysql::Mysql;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::Error;
use diesel::{MysqlConnection, QueryResult, RunQueryDsl};

use super::super::{ended, is_open, only_ours, opening};
use super::{Failure, PROVE, Unlock, Word, begin_sql};
use crate::policy::Isolation;
use crate::store::CommitError;

/// Counts the transaction that the caller is about to open, locks before it.
pub(crate) fn open(connection: &mut MysqlConnection) -> QueryResult<()> {
    opening(status(connection))
}

/// Refuses where no transaction is open.
pub(crate) fn inside(connection: &mut MysqlConnection) -> QueryResult<()> {
    is_open(status(connection))
}

/// Opens the transaction that is counted already.
pub(crate) fn begin(
    connection: &mut MysqlConnection,
    isolation: Option<Isolation>,
) -> QueryResult<()> {
    connection.batch_execute(&begin_sql(isolation))
}

/// Proves that the open transaction is the one that `begin` opened.
pub(crate) fn prove(connection: &mut MysqlConnection) -> QueryResult<()> {
    only_ours(status(connection))?;
    connection.batch_execute(PROVE)
}

/// Proves that the transaction is the one that `begin` opened, runs these statements, and commits.
pub(crate) fn end_with(
    connection: &mut MysqlConnection,
    statements: impl FnOnce(&mut MysqlConnection) -> QueryResult<()>,
) -> Result<(), CommitError> {
    match prove(connection).and_then(|()| statements(connection)) {
        Ok(()) => end(connection),
        Err(error) => Err(failed(connection, error).judge_message()),
    }
}

/// Commits, behind [`prove`].
pub(crate) fn end(connection: &mut MysqlConnection) -> Result<(), CommitError> {
    let failure = match Commit.execute(connection) {
        Ok(_) => match unlock(connection) {
            Ok(()) => return Ok(()),
            Err(error) => unknown(connection, error),
        },
        Err(error) => failed(connection, error),
    };
    Err(failure.judge_message())
}

#[derive(QueryId)]
struct Commit;

impl QueryFragment<Mysql> for Commit {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql("COMMIT");
        Ok(())
    }
}

impl RunQueryDsl<MysqlConnection> for Commit {}
impl RunQueryDsl<MysqlConnection> for Unlock {}

/// Behind the end of a transaction.
pub(crate) fn unlock(connection: &mut MysqlConnection) -> QueryResult<()> {
    let word = Word::anew();
    let (answer, _) = Unlock(word.clone()).get_result::<(String, Option<i64>)>(connection)?;
    word.judge(&answer)?;
    ended(status(connection));
    Ok(())
}

pub(crate) fn rollback(connection: &mut MysqlConnection) -> QueryResult<()> {
    connection.batch_execute("ROLLBACK")?;
    unlock(connection)
}

/// Rolls back after an error: see [`super::failed`].
pub(crate) fn failed(connection: &mut MysqlConnection, error: Error) -> Failure {
    match rollback(connection) {
        Ok(()) => Failure {
            error,
            rolled_back: true,
        },
        Err(_) => unknown(connection, error),
    }
}

fn unknown(connection: &mut MysqlConnection, error: Error) -> Failure {
    give_up(connection);
    Failure {
        error,
        rolled_back: false,
    }
}

/// The error of what was asked first on a connection: see [`Failure::of_first`].
pub(crate) fn refused(connection: &mut MysqlConnection, error: Error) -> Error {
    failed(connection, error).of_first()
}

/// Lets the pool close the connection when it comes back.
pub(crate) fn give_up(connection: &mut MysqlConnection) {
    status(connection).set_in_error();
}

fn status(connection: &mut MysqlConnection) -> &mut TransactionManagerStatus {
    AnsiTransactionManager::transaction_manager_status_mut(connection)
}
