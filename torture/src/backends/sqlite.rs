//! A SQLite file that all applications share. There is no server and no wire, and the clock is that of
//! the host, which we are on too.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, SimpleAsyncConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Backend, End, Row, Two};
use crate::Outcome;
use crate::host::HostClock;
use crate::operator::{self, Settled};
use crate::plan::Operation;
use crate::proxy::Proxy;

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Sqlite {
    path: PathBuf,
    clock: Option<HostClock>,
}

impl Sqlite {
    pub(super) fn fresh(directory: &Path) -> Outcome<Self> {
        // We open the file ourselves, and so our clock is moved with that of everybody else, or none is.
        let clock = HostClock::own();
        if let Some(clock) = &clock {
            clock.set(0)?;
        }
        let path = directory.join("torture.db");
        Ok(Self { path, clock })
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }

    async fn with_connection<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut SqliteConnection) -> QueryResult<T> + Send + 'static,
    ) -> Outcome<T> {
        let path = self.path();
        tokio::task::spawn_blocking(move || {
            let mut connection = SqliteConnection::establish(&path)?;
            connection.batch_execute(&busy_timeout(patience))?;
            Ok(work(&mut connection)?)
        })
        .await?
    }
}

impl Backend for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn proxy(&self) -> BoxFuture<'_, Outcome<Option<Proxy>>> {
        async { Ok(None) }.boxed()
    }

    fn url_through(&self, _: Option<&Proxy>) -> String {
        format!("sqlite://{}", self.path())
    }

    fn execute<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Outcome> {
        let sql = sql.to_owned();
        self.with_connection(PATIENCE, move |connection| connection.batch_execute(&sql))
            .boxed()
    }

    fn rows<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Outcome<Vec<Row>>> {
        let query = diesel::sql_query(sql);
        async move {
            let load = move |connection: &mut SqliteConnection| query.load::<Two>(connection);
            let rows = self.with_connection(PATIENCE, load).await?;
            Ok(rows.into_iter().map(Row::from).collect())
        }
        .boxed()
    }

    fn seconds_ago(&self, seconds: u32) -> String {
        format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '-{seconds} seconds')")
    }

    fn message_id(&self) -> &'static str {
        "lower(hex(message_id))"
    }

    /// It cannot be dropped here. A table that is made of another one has none.
    fn without_key(&self) -> &'static str {
        "BEGIN IMMEDIATE;
         CREATE TABLE keyless AS SELECT * FROM idempotency_keys;
         DROP TABLE idempotency_keys;
         ALTER TABLE keyless RENAME TO idempotency_keys;
         CREATE INDEX idempotency_keys_id ON idempotency_keys (id);
         COMMIT"
    }

    fn is_up(&self) -> BoxFuture<'_, Outcome> {
        async { Ok(()) }.boxed()
    }

    fn left_open(&self) -> BoxFuture<'_, Outcome<Vec<String>>> {
        async {
            let attempt = self
                .with_connection(Duration::from_millis(200), |connection| {
                    connection.batch_execute("BEGIN IMMEDIATE; ROLLBACK")
                })
                .await;
            Ok(attempt
                .err()
                .map(|error| format!("transaction: {error}"))
                .into_iter()
                .collect())
        }
        .boxed()
    }

    fn settle<'a>(&'a self, operations: &'a [Arc<Operation>]) -> BoxFuture<'a, Outcome<Settled>> {
        async move {
            let mut connection =
                SyncConnectionWrapper::<SqliteConnection>::establish(&self.path()).await?;
            connection.batch_execute(&busy_timeout(PATIENCE)).await?;
            operator::settle(&mut connection, self, operations).await
        }
        .boxed()
    }

    fn end(&self, _: End) -> BoxFuture<'_, Outcome<bool>> {
        async { Ok(false) }.boxed()
    }

    fn be_busy(&self, during: Duration) -> BoxFuture<'_, Outcome<bool>> {
        async move {
            // The one writer is somebody else.
            self.with_connection(PATIENCE, move |connection| {
                connection.batch_execute("BEGIN IMMEDIATE")?;
                std::thread::sleep(during);
                connection.batch_execute("ROLLBACK")
            })
            .await?;
            Ok(true)
        }
        .boxed()
    }

    fn set_clock_forward(&self, total: Duration) -> BoxFuture<'_, Outcome<bool>> {
        ready(HostClock::set_forward(self.clock.as_ref(), total)).boxed()
    }

    fn host_clock(&self, _: PathBuf) -> Outcome<Option<HostClock>> {
        Ok(self.clock.clone())
    }

    fn discard(&self) -> BoxFuture<'_, Outcome> {
        async {
            for ending in ["", "-wal", "-shm"] {
                let path = format!("{}{ending}", self.path());
                let _ = std::fs::remove_file(path);
            }
            Ok(())
        }
        .boxed()
    }
}

fn busy_timeout(patience: Duration) -> String {
    format!("PRAGMA busy_timeout = {}", patience.as_millis())
}
