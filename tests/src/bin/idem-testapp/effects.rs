//! What handlers write, written once for all connection types; and how anybody counts it.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncMysqlConnection, AsyncPgConnection};
use idem_runtime::IdempotencyKey;
use idem_runtime::outbox::{EnqueueError, Message};
use uuid::Uuid;

use crate::migrate::Url;

diesel::table! {
    effects (id) {
        id -> BigInt,
        label -> Text,
    }
}

diesel::table! {
    stock (id) {
        id -> Integer,
        price -> Integer,
        sold -> BigInt,
    }
}

diesel::table! {
    traps (label) {
        label -> Text,
    }
}

/// A handler's connection.
pub(crate) trait Writes {
    async fn insert(&mut self, label: &str) -> QueryResult<()>;
    async fn price(&mut self, item: i32) -> QueryResult<i32>;
    async fn sell(&mut self, item: i32, price: i32) -> QueryResult<()>;
    /// Fails, and leaves the transaction aborted (PostgreSQL) or gone (elsewhere).
    async fn spring_trap(&mut self, label: &str) -> QueryResult<()>;
    async fn count(&mut self, label: &str) -> QueryResult<i64>;
    async fn run(&mut self, sql: &str) -> QueryResult<()>;
    async fn queue(
        &mut self,
        message: &Message,
        key: &IdempotencyKey,
    ) -> Result<Uuid, EnqueueError>;
}

/// How a query of this connection is waited for, and how it queues a message, is said by whoever stamps this.
macro_rules! writes {
    ($connection:ty, $trap:literal, $enqueue:ident $($awaited:tt)*) => {
        impl Writes for $connection {
            async fn insert(&mut self, label: &str) -> QueryResult<()> {
                let row = effects::label.eq(label);
                let insert = diesel::insert_into(effects::table).values(row);
                insert.execute(self)$($awaited)*.map(drop)
            }

            async fn price(&mut self, item: i32) -> QueryResult<i32> {
                let price = stock::table.filter(stock::id.eq(item)).select(stock::price);
                price.get_result(self)$($awaited)*
            }

            async fn sell(&mut self, item: i32, price: i32) -> QueryResult<()> {
                let sale = diesel::update(stock::table.filter(stock::id.eq(item)))
                    .set(stock::sold.eq(stock::sold + i64::from(price)));
                sale.execute(self)$($awaited)*.map(drop)
            }

            async fn spring_trap(&mut self, label: &str) -> QueryResult<()> {
                self.batch_execute($trap)$($awaited)*?;
                let row = traps::label.eq(label);
                let insert = diesel::insert_into(traps::table).values(row);
                insert.execute(self)$($awaited)*.map(drop)
            }

            async fn count(&mut self, label: &str) -> QueryResult<i64> {
                let count = effects::table.filter(effects::label.eq(label)).count();
                count.get_result(self)$($awaited)*
            }

            async fn run(&mut self, sql: &str) -> QueryResult<()> {
                self.batch_execute(sql)$($awaited)*
            }

            async fn queue(
                &mut self,
                message: &Message,
                key: &IdempotencyKey,
            ) -> Result<Uuid, EnqueueError> {
                message.$enqueue(self, key)$($awaited)*
            }
        }
    };
}

mod asynchronous {
    use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

    use super::*;

    // As a deadlock does, behind the back of diesel.
    writes!(AsyncMysqlConnection, "ROLLBACK", enqueue.await);
    writes!(AsyncPgConnection, "SELECT 1", enqueue.await);
    writes!(
        SyncConnectionWrapper<SqliteConnection>,
        "SELECT 1",
        enqueue.await
    );
}

/// Nothing is waited for here: who runs this may block.
mod blocking {
    use diesel::RunQueryDsl;
    use diesel::connection::SimpleConnection;

    use super::*;

    #[cfg(feature = "mysql-blocking")]
    writes!(diesel::MysqlConnection, "ROLLBACK", enqueue_blocking);
    writes!(PgConnection, "SELECT 1", enqueue_blocking);
    writes!(SqliteConnection, "SELECT 1", enqueue_blocking);
}

/// Rows that anybody can see, counted on a connection of its own: the pool may be in use up to the last one.
pub(crate) async fn committed(url: &Url, label: &str) -> Result<i64, Box<dyn std::error::Error>> {
    let count = match url {
        Url::Mysql(url) => {
            AsyncMysqlConnection::establish(url)
                .await?
                .count(label)
                .await?
        }
        Url::Postgres(url) => {
            AsyncPgConnection::establish(url)
                .await?
                .count(label)
                .await?
        }
        Url::Sqlite(path) => {
            let mut connection = SyncConnectionWrapper::<SqliteConnection>::establish(path).await?;
            connection.run("PRAGMA busy_timeout = 5000").await?;
            connection.count(label).await?
        }
    };
    Ok(count)
}

/// Deletes what has expired, as a job beside the application does.
pub(crate) async fn prune(url: &Url) -> Result<usize, Box<dyn std::error::Error>> {
    let count = match url {
        Url::Mysql(url) => prune_all(&mut AsyncMysqlConnection::establish(url).await?).await?,
        Url::Postgres(url) => prune_all(&mut AsyncPgConnection::establish(url).await?).await?,
        Url::Sqlite(path) => {
            let mut connection = SyncConnectionWrapper::<SqliteConnection>::establish(path).await?;
            connection.run("PRAGMA busy_timeout = 5000").await?;
            prune_all(&mut connection).await?
        }
    };
    Ok(count)
}

async fn prune_all<C: idem_runtime::Backend>(connection: &mut C) -> QueryResult<usize> {
    let mut pruner = idem_runtime::Pruner::new();
    let mut total = 0;
    loop {
        match pruner.batch(connection, 100).await? {
            0 => return Ok(total),
            count => total += count,
        }
    }
}
