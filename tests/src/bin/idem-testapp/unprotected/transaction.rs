//! A plain diesel transaction around a handler's work. `AsyncConnection::transaction` would be shorter, but demands
//! futures that are `Send`, which actix handlers are not.

use actix_web::HttpResponse;
use diesel::connection::AnsiTransactionManager;
use diesel::{QueryResult, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncPgConnection, TransactionManager};
use idem_runtime::pool::ConnectionPool;

use super::{byhand, floor};
use crate::effects::Writes;
use crate::failure::Failure;

/// What an unprotected handler asks of its connection.
pub(super) trait Connection:
    AsyncConnection + Writes + byhand::Keys + floor::Records + 'static
{
    async fn begin(&mut self) -> QueryResult<()>;
}

impl Connection for AsyncPgConnection {
    async fn begin(&mut self) -> QueryResult<()> {
        <Self as AsyncConnection>::TransactionManager::begin_transaction(self).await
    }
}

/// A transaction that reads before it writes must not begin as a reader: it would be refused as soon as somebody else
/// writes in between.
impl Connection for SyncConnectionWrapper<SqliteConnection> {
    async fn begin(&mut self) -> QueryResult<()> {
        self.spawn_blocking(|connection| {
            AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN IMMEDIATE")
        })
        .await
    }
}

/// What is left to do when the work is done.
pub(super) enum Ending {
    Commit,
    RollBack,
    /// The work has committed by itself.
    Committed,
}

impl Ending {
    pub(super) fn of(response: &HttpResponse) -> Self {
        if response.status().as_u16() < 400 {
            Self::Commit
        } else {
            Self::RollBack
        }
    }
}

/// Rolls back after every error. A handler that is dropped leaves the transaction open, and the pool closes the
/// connection.
pub(super) async fn in_transaction<C: Connection>(
    pool: &dyn ConnectionPool<C>,
    work: impl AsyncFnOnce(&mut C) -> Result<(HttpResponse, Ending), Failure>,
) -> Result<HttpResponse, Failure> {
    let mut lease = pool.lend().await?;
    let connection = &mut **lease;
    connection.begin().await?;
    match work(connection).await {
        Ok((response, Ending::Committed)) => Ok(response),
        Ok((response, Ending::Commit)) => {
            C::TransactionManager::commit_transaction(connection).await?;
            Ok(response)
        }
        Ok((response, Ending::RollBack)) => {
            C::TransactionManager::rollback_transaction(connection).await?;
            Ok(response)
        }
        Err(failure) => {
            C::TransactionManager::rollback_transaction(connection).await?;
            Err(failure)
        }
    }
}
