//! A database of a MariaDB server of our own, which is started again by itself whenever it ends.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process};

use diesel_async::{AsyncConnection, AsyncMysqlConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use super::server::{self, PATIENCE, PAUSE};
use super::{Backend, End, Row, Two, signal};
use crate::Outcome;
use crate::host::{self, HostClock};
use crate::operator::{self, Settled};
use crate::plan::Operation;
use crate::proxy::Proxy;

/// The server, by the name that `idem_tests` reads too.
const SERVER: &str = "IDEM_TEST_MYSQL_URL";
/// A file that names its process.
const PID: &str = "IDEM_TORTURE_MYSQL_PID";
/// One that its clock is told by, where it can be.
const CLOCK: &str = "IDEM_TORTURE_MYSQL_CLOCK";

/// In the SQL of the others: `"key"` is a name, and `||` puts texts together. Nobody waits for us for long, nor we for
/// them.
const SESSION: &str = "
    SET sql_mode = concat(@@sql_mode, ',ANSI_QUOTES,PIPES_AS_CONCAT');
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET lock_wait_timeout = 10, innodb_lock_wait_timeout = 10";

pub(super) struct Mysql {
    server: String,
    name: String,
    url: String,
    pid: Option<PathBuf>,
    clock: Option<HostClock>,
}

impl Mysql {
    pub(super) async fn fresh() -> Outcome<Self> {
        let server = server::named(SERVER)?;
        let name = format!("idem_torture_{}", process::id());
        let clock = match env::var_os(CLOCK) {
            Some(file) => HostClock::new(file.into())?,
            None => None,
        };
        let place = Self {
            url: format!("{server}/{name}"),
            server,
            name,
            pid: env::var_os(PID).map(PathBuf::from),
            clock,
        };
        place.is_up().await?;
        place
            .at_server(&format!("CREATE DATABASE {}", place.name))
            .await?;
        Ok(place)
    }

    async fn at_server(&self, sql: &str) -> Outcome {
        Ok(connect(&self.server).await?.batch_execute(sql).await?)
    }

    async fn end_process(&self, name: &str) -> Outcome<bool> {
        let Some(file) = &self.pid else {
            return Ok(false);
        };
        let process: u32 = fs::read_to_string(file)?.trim().parse()?;
        if !signal(name, process).await? {
            return Ok(false);
        }
        let place = Path::new("/proc").join(process.to_string());
        let start = Instant::now();
        while place.exists() && start.elapsed() < PATIENCE {
            sleep(PAUSE).await;
        }
        host::forget(process);
        Ok(true)
    }

    /// Every second time only the statement that it is at.
    async fn end_session(&self, number: usize) -> Outcome<bool> {
        let query = format!(
            "SELECT id || '' AS a, '' AS b FROM information_schema.processlist
              WHERE db = '{}' AND id <> connection_id() ORDER BY id",
            self.name
        );
        let sessions = self.rows(&query).await?;
        let index = number % sessions.len().max(1);
        let id = sessions.into_iter().nth(index);
        let Some(id) = id.and_then(|row| row.into_iter().next()).flatten() else {
            return Ok(false);
        };
        let what = match number.is_multiple_of(2) {
            true => "CONNECTION",
            false => "QUERY",
        };
        self.at_server(&format!("KILL {what} {id}")).await?;
        Ok(true)
    }
}

impl Backend for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn proxy(&self) -> BoxFuture<'_, Outcome<Option<Proxy>>> {
        server::proxy(&self.url).boxed()
    }

    fn url_through(&self, proxy: Option<&Proxy>) -> String {
        server::url_through(&self.url, proxy)
    }

    fn execute<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Outcome> {
        server::in_time(async { Ok(connect(&self.url).await?.batch_execute(sql).await?) }).boxed()
    }

    fn rows<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Outcome<Vec<Row>>> {
        async move {
            let mut connection = connect(&self.url).await?;
            let rows: Vec<Two> = diesel::sql_query(sql).load(&mut connection).await?;
            Ok(rows.into_iter().map(Row::from).collect())
        }
        .boxed()
    }

    fn seconds_ago(&self, seconds: u32) -> String {
        format!("timestampadd(SECOND, -{seconds}, utc_timestamp(6))")
    }

    fn message_id(&self) -> &'static str {
        "lower(hex(message_id))"
    }

    fn without_key(&self) -> &'static str {
        "ALTER TABLE idempotency_keys DROP PRIMARY KEY, ADD INDEX idempotency_keys_id (id)"
    }

    fn is_up(&self) -> BoxFuture<'_, Outcome> {
        server::until_up(|| self.at_server("SELECT 1")).boxed()
    }

    fn left_open(&self) -> BoxFuture<'_, Outcome<Vec<String>>> {
        async {
            // A transaction whose session is gone is still being rolled back.
            let query = format!(
                "SELECT 'transaction: ' || left(coalesce(trx_query, command, 'of nobody'), 200) AS a, '' AS b
                   FROM information_schema.innodb_trx
                   LEFT JOIN information_schema.processlist ON id = trx_mysql_thread_id
                  WHERE (db = '{name}' AND (command = 'Sleep' OR trx_started < now() - INTERVAL 2 SECOND))
                     OR id IS NULL
                 UNION ALL
                 SELECT 'named lock ' || object_name, '' FROM performance_schema.metadata_locks
                  WHERE object_type = 'USER LEVEL LOCK' AND object_name LIKE 'idem:%'",
                name = self.name
            );
            let rows = self.rows(&query).await?;
            Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
        }
        .boxed()
    }

    fn settle<'a>(&'a self, operations: &'a [Arc<Operation>]) -> BoxFuture<'a, Outcome<Settled>> {
        async move {
            let mut connection = AsyncMysqlConnection::establish(&self.url).await?;
            operator::settle(&mut connection, self, operations).await
        }
        .boxed()
    }

    fn end(&self, end: End) -> BoxFuture<'_, Outcome<bool>> {
        async move {
            let has_ended = match end {
                End::Killed => self.end_process("KILL").await?,
                End::Crashed => self.end_process("ABRT").await?,
                End::Restarted => self.end_process("TERM").await?,
                End::Session(number) => self.end_session(number).await?,
            };
            self.is_up().await?;
            Ok(has_ended)
        }
        .boxed()
    }

    fn be_busy(&self, during: Duration) -> BoxFuture<'_, Outcome<bool>> {
        async move {
            // What a migration that adds a column may do: nobody reads or writes records meanwhile.
            let sql = format!(
                "LOCK TABLES idempotency_keys WRITE; SELECT sleep({}); UNLOCK TABLES",
                during.as_secs_f64()
            );
            Backend::execute(self, &sql).await?;
            Ok(true)
        }
        .boxed()
    }

    fn set_clock_forward(&self, total: Duration) -> BoxFuture<'_, Outcome<bool>> {
        ready(HostClock::set_forward(self.clock.as_ref(), total)).boxed()
    }

    fn host_clock(&self, file: PathBuf) -> Outcome<Option<HostClock>> {
        HostClock::new(file)
    }

    fn discard(&self) -> BoxFuture<'_, Outcome> {
        async {
            self.at_server(&format!("DROP DATABASE {}", self.name))
                .await
        }
        .boxed()
    }
}

async fn connect(url: &str) -> Outcome<AsyncMysqlConnection> {
    let mut connection = AsyncMysqlConnection::establish(url).await?;
    connection.batch_execute(SESSION).await?;
    Ok(connection)
}
