//! A database of a PostgreSQL server of our own, which is started again by itself whenever it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process};

use diesel_async::{AsyncConnection, AsyncPgConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::sleep;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::server::{self, PAUSE};
use super::{Backend, End, Row, signal};
use crate::Outcome;
use crate::host::HostClock;
use crate::operator::{self, Settled};
use crate::plan::Operation;
use crate::proxy::Proxy;

/// Any database of the server, by the name that `idem_tests` reads too.
const SERVER: &str = "IDEM_TEST_POSTGRES_URL";
/// Where its `postmaster.pid` is.
const DATA: &str = "IDEM_TORTURE_POSTGRES_DATA";

/// The functions that tell the time.
const CLOCKS: [&str; 4] = [
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "now",
];

pub(super) struct Postgres {
    server: String,
    name: String,
    url: String,
    data: Option<PathBuf>,
}

impl Postgres {
    pub(super) async fn fresh() -> Outcome<Self> {
        let server = server::named(SERVER)?;
        let name = format!("idem_torture_{}", process::id());
        let (authority, _) = server.rsplit_once('/').ok_or("a URL without a database")?;
        let place = Self {
            url: format!("{authority}/{name}"),
            server,
            name,
            data: env::var_os(DATA).map(PathBuf::from),
        };
        place.is_up().await?;
        place
            .at_server(&format!("CREATE DATABASE {}", place.name))
            .await?;
        // From the beginning, so that every connection sees every move.
        let path = format!(
            "ALTER DATABASE {} SET search_path = public, pg_catalog",
            place.name
        );
        place.at_server(&path).await?;
        place.set_clock(Duration::ZERO).await?;
        Ok(place)
    }

    async fn at_server(&self, sql: &str) -> Outcome {
        let client = connect(&self.server).await?;
        Ok(client.batch_execute(sql).await?)
    }

    async fn set_clock(&self, total: Duration) -> Outcome {
        let microseconds = total.as_micros();
        let functions = CLOCKS.map(|clock| {
            format!(
                "CREATE OR REPLACE FUNCTION public.{clock}() RETURNS timestamptz VOLATILE LANGUAGE sql
                 AS $$ SELECT pg_catalog.{clock}() + interval '{microseconds} microseconds' $$;"
            )
        });
        self.execute(&functions.concat()).await
    }

    fn server_process(&self) -> Option<u32> {
        let file = fs::read_to_string(self.data.as_ref()?.join("postmaster.pid"));
        file.ok()?.lines().next()?.trim().parse().ok()
    }

    async fn child(&self, number: usize) -> Outcome<Option<u32>> {
        let query = format!(
            "SELECT pid AS a FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid() ORDER BY pid",
            self.name
        );
        let children = self.rows(&query).await?;
        let index = number % children.len().max(1);
        let pid = children
            .into_iter()
            .nth(index)
            .and_then(|row| row.into_iter().next());
        Ok(pid.flatten().and_then(|pid| pid.parse().ok()))
    }
}

impl Backend for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
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
            let answer = connect(&self.url).await?.simple_query(sql).await?;
            let rows = answer.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(
                    (0..row.len())
                        .map(|at| row.get(at).map(String::from))
                        .collect(),
                ),
                _ => None,
            });
            Ok(rows.collect())
        }
        .boxed()
    }

    fn seconds_ago(&self, seconds: u32) -> String {
        format!("clock_timestamp() - interval '{seconds} seconds'")
    }

    fn message_id(&self) -> &'static str {
        "replace(message_id::text, '-', '')"
    }

    fn without_key(&self) -> &'static str {
        "ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;
         CREATE INDEX idempotency_keys_id ON idempotency_keys (id)"
    }

    fn is_up(&self) -> BoxFuture<'_, Outcome> {
        server::until_up(|| self.at_server("SELECT 1")).boxed()
    }

    fn left_open(&self) -> BoxFuture<'_, Outcome<Vec<String>>> {
        async {
            let query = format!(
                "SELECT 'transaction: ' || left(query, 200) AS a FROM pg_stat_activity
                  WHERE datname = '{name}' AND pid <> pg_backend_pid()
                    AND (state LIKE 'idle in transaction%' OR xact_start < pg_catalog.now() - interval '2 seconds')
                 UNION ALL
                 SELECT 'advisory lock of ' || pid AS a FROM pg_locks
                  WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = '{name}')",
                name = self.name
            );
            let rows = self.rows(&query).await?;
            Ok(rows.into_iter().flatten().flatten().collect())
        }
        .boxed()
    }

    fn settle<'a>(&'a self, operations: &'a [Arc<Operation>]) -> BoxFuture<'a, Outcome<Settled>> {
        async move {
            let mut connection = AsyncPgConnection::establish(&self.url).await?;
            operator::settle(&mut connection, self, operations).await
        }
        .boxed()
    }

    fn end(&self, end: End) -> BoxFuture<'_, Outcome<bool>> {
        async move {
            let (name, process) = match end {
                End::Killed => ("KILL", self.server_process()),
                End::Crashed => ("QUIT", self.server_process()),
                End::Restarted => ("INT", self.server_process()),
                // The server starts over.
                End::Session(number) => ("KILL", self.child(number).await?),
            };
            let Some(process) = process else {
                return Ok(false);
            };
            if !signal(name, process).await? {
                return Ok(false);
            }
            // It is another process that answers, or none of the children does.
            sleep(PAUSE).await;
            self.is_up().await?;
            Ok(true)
        }
        .boxed()
    }

    fn be_busy(&self, during: Duration) -> BoxFuture<'_, Outcome<bool>> {
        async move {
            // What a migration that adds a column does: nobody reads or writes records meanwhile.
            let sql = format!(
                "BEGIN; LOCK TABLE idempotency_keys; SELECT pg_sleep({}); COMMIT",
                during.as_secs_f64()
            );
            self.execute(&sql).await?;
            Ok(true)
        }
        .boxed()
    }

    fn set_clock_forward(&self, total: Duration) -> BoxFuture<'_, Outcome<bool>> {
        async move {
            self.set_clock(total).await?;
            Ok(true)
        }
        .boxed()
    }

    fn host_clock(&self, file: PathBuf) -> Outcome<Option<HostClock>> {
        HostClock::new(file)
    }

    fn discard(&self) -> BoxFuture<'_, Outcome> {
        async {
            self.at_server(&format!("DROP DATABASE {} WITH (FORCE)", self.name))
                .await
        }
        .boxed()
    }
}

async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
