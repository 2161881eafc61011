//! Transactions on PostgreSQL.

#[cfg(feature = "postgres-blocking")]
pub(crate) mod blocking;

use diesel::QueryResult;
use diesel::connection::TransactionManagerStatus;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::Error;
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection,
    TransactionManager,
};
use futures_util::try_join;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_postgres::{CancelToken, NoTls};

use super::server::{CLEAN_UP, COMMITTING, Failure, level};
use super::{answered, ended, is_open, no_answer, only_ours, opening};
use crate::policy::Isolation;

pub(crate) fn begin_sql(isolation: Option<Isolation>) -> String {
    match isolation {
        None => "BEGIN".to_owned(),
        Some(isolation) => format!("BEGIN ISOLATION LEVEL {}", level(isolation)),
    }
}

/// Counts the transaction whose BEGIN the caller sends next, alone or beside other statements.
pub(crate) fn open(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    opening(status(connection))
}

/// Refuses where no transaction is open.
pub(crate) fn inside(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    is_open(status(connection))
}

/// Sends these statements and COMMIT behind them, without waiting in between.
///
/// COMMIT must never come without them, and comes only if they were sent: each poll puts the
/// statements first, and an error of theirs before they were sent ends both. If the server refuses
/// one of them, the transaction is aborted, COMMIT rolls back, and the statement's error tells. There
/// must be at least one statement for that: COMMIT alone ends a failed transaction without an error.
///
/// COMMIT is a prepared statement, like those before it: on a connection's first use the statement
/// cache is locked while one of them is prepared, and COMMIT has to wait for the cache in its turn.
/// Sent as a plain message it would overtake.
pub(crate) async fn commit_with<S>(
    connection: &mut AsyncPgConnection,
    statements: S,
) -> Result<(), Failure>
where
    S: AsyncFnOnce(&AsyncPgConnection) -> QueryResult<()>,
{
    if let Err(error) = only_ours(status(connection)) {
        return Err(failed(connection, error).await);
    }
    let shared = &*connection;
    let commit = async { Commit.execute(&mut &*shared).await };
    let ending = async { try_join!(statements(shared), commit).map(drop) };
    let answered = timeout(COMMITTING, ending).await;
    end(connection, answered).await
}

/// Rolls back and sends these statements behind it, without waiting in between. They commit on their
/// own.
pub(crate) async fn rollback_with<S>(
    connection: &mut AsyncPgConnection,
    statements: S,
) -> Result<(), Failure>
where
    S: AsyncFnOnce(&AsyncPgConnection) -> QueryResult<()>,
{
    let shared = &*connection;
    let rollback = async { (&mut &*shared).batch_execute("ROLLBACK").await };
    let ending = async { try_join!(rollback, statements(shared)).map(drop) };
    let answered = timeout(COMMITTING, ending).await;
    end(connection, answered).await
}

/// The transaction has ended, if it was answered. Without an answer nobody knows, and a ROLLBACK that
/// is answered later would prove nothing.
async fn end(
    connection: &mut AsyncPgConnection,
    answered: Result<QueryResult<()>, Elapsed>,
) -> Result<(), Failure> {
    match answered {
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

#[derive(QueryId)]
struct Commit;

impl QueryFragment<Pg> for Commit {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("COMMIT");
        Ok(())
    }
}

pub(crate) async fn rollback(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    answered(CLEAN_UP, connection.batch_execute("ROLLBACK")).await?;
    ended(status(connection));
    Ok(())
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

/// Stops a statement whose connection is gone: its server process would only notice at the end of it.
pub(crate) fn stop(canceller: CancelToken) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            if !matches!(
                timeout(CLEAN_UP, canceller.cancel_query(NoTls)).await,
                Ok(Ok(()))
            ) {
                tracing::warn!("a statement could not be cancelled");
            }
        });
    }
}

/// Lets the pool close the connection when it comes back.
pub(crate) fn give_up(connection: &mut AsyncPgConnection) {
    status(connection).set_in_error();
}

fn status(connection: &mut AsyncPgConnection) -> &mut TransactionManagerStatus {
    AnsiTransactionManager::transaction_manager_status_mut(connection)
}

#[cfg(test)]
mod tests {
    use diesel::sql_query;
    use diesel::sql_types::BigInt;
    use diesel_async::AsyncConnection;

    use super::*;

    #[derive(diesel::QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        count: i64,
    }

    async fn in_transaction() -> AsyncPgConnection {
        let url = std::env::var("IDEM_TEST_POSTGRES_URL").expect("`cargo xtask test` sets it");
        let mut connection = AsyncPgConnection::establish(&url).await.unwrap();
        let table = "CREATE TEMPORARY TABLE effects (id int)";
        connection.batch_execute(table).await.unwrap();
        open(&mut connection).unwrap();
        let effect = "BEGIN; INSERT INTO effects VALUES (1)";
        connection.batch_execute(effect).await.unwrap();
        connection
    }

    async fn effects(connection: &mut AsyncPgConnection) -> i64 {
        let count = sql_query("SELECT count(*) FROM effects");
        count.get_result::<Count>(connection).await.unwrap().count
    }

    #[actix_web::test]
    async fn no_commit_without_the_statements_before_it() {
        let mut connection = in_transaction().await;
        let unsent = async |_: &AsyncPgConnection| Err(Error::NotFound);
        let failure = commit_with(&mut connection, unsent).await.unwrap_err();
        assert!(failure.rolled_back);
        assert_eq!(effects(&mut connection).await, 0);
    }

    #[actix_web::test]
    async fn no_commit_behind_a_statement_that_the_server_refuses() {
        let mut connection = in_transaction().await;
        let refused = async |connection: &AsyncPgConnection| {
            let nonsense = sql_query("SELECT 1 / 0");
            nonsense.execute(&mut &*connection).await.map(drop)
        };
        let failure = commit_with(&mut connection, refused).await.unwrap_err();
        assert!(failure.rolled_back);
        assert_eq!(effects(&mut connection).await, 0);
    }
}
