//! The databases: how one is made, reached, harmed and read. A backend is one file and one line in [`fresh`]. What its
//! tables should hold is not said here.

mod mysql;
mod postgres;
mod server;
mod sqlite;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::QueryableByName;
use diesel::sql_types::{Nullable, Text};
use futures_util::future::BoxFuture;
use tokio::process::Command;

use crate::Outcome;
use crate::host::HostClock;
use crate::operator::Settled;
use crate::options::Choice;
use crate::plan::Operation;
use crate::proxy::Proxy;

/// One row of a query, as text.
pub(crate) type Row = Vec<Option<String>>;

/// The same as diesel reads it.
#[derive(QueryableByName)]
struct Two {
    #[diesel(sql_type = Nullable<Text>)]
    a: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    b: Option<String>,
}

impl From<Two> for Row {
    fn from(row: Two) -> Self {
        vec![row.a, row.b]
    }
}

pub(crate) trait Backend: Send + Sync {
    fn name(&self) -> &'static str;

    /// A proxy in front of it, where there is a wire.
    fn proxy(&self) -> BoxFuture<'_, Outcome<Option<Proxy>>>;

    /// What `--database-url` takes.
    fn url_through(&self, proxy: Option<&Proxy>) -> String;

    fn execute<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Outcome>;

    /// A query of the columns `a` and `b`.
    fn rows<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Outcome<Vec<Row>>>;

    /// The time that leases and records are measured by, some seconds ago.
    fn seconds_ago(&self, seconds: u32) -> String;

    /// The id of a message, as hexadecimal digits.
    fn message_id(&self) -> &'static str;

    /// Takes the primary key of the records away.
    fn without_key(&self) -> &'static str;

    /// Returns when it answers.
    fn is_up(&self) -> BoxFuture<'_, Outcome>;

    /// Transactions that somebody has open, and locks that somebody holds.
    fn left_open(&self) -> BoxFuture<'_, Outcome<Vec<String>>>;

    /// Says how unresolved ones of these operations have ended, by the runtime's own door.
    fn settle<'a>(&'a self, operations: &'a [Arc<Operation>]) -> BoxFuture<'a, Outcome<Settled>>;

    /// Ends the server or one of its sessions, and returns when it is up again. False where there is none.
    fn end(&self, end: End) -> BoxFuture<'_, Outcome<bool>>;

    /// Everybody else finds it busy for so long. False where nothing is of that kind.
    fn be_busy(&self, during: Duration) -> BoxFuture<'_, Outcome<bool>>;

    /// Its clock goes on from so much later. False where it is the host's and cannot be moved.
    fn set_clock_forward(&self, total: Duration) -> BoxFuture<'_, Outcome<bool>>;

    /// The clock of an application's host: one of its own, told by this file, or the one that all must share. `None`
    /// where none can be moved.
    fn host_clock(&self, file: PathBuf) -> Outcome<Option<HostClock>>;

    /// Nothing of it stays.
    fn discard(&self) -> BoxFuture<'_, Outcome>;
}

/// How a server ends, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// SIGKILL.
    Killed,
    /// As at an error of its own, in the middle of everything.
    Crashed,
    /// In the usual way.
    Restarted,
    /// One that serves somebody: its number among them, counted around.
    Session(usize),
}

/// Where a run is asked for on all of them, one after the other.
pub(crate) fn chosen(choice: Choice) -> &'static [&'static str] {
    match choice {
        Choice::Postgres => &["postgres"],
        Choice::Mysql => &["mysql"],
        Choice::Sqlite => &["sqlite"],
        Choice::All => &["postgres", "mysql", "sqlite"],
    }
}

/// Set where the test application was built with handlers that block on MariaDB, which want a library of the system's.
const MYSQL_BLOCKING: &str = "IDEM_TORTURE_MYSQL_BLOCKING";

/// Whether the test application has handlers there that block.
pub(crate) fn has_blocking(name: &str) -> bool {
    name != "mysql" || env::var_os(MYSQL_BLOCKING).is_some()
}

/// Whether the faults of a server can be done to it.
pub(crate) fn has_server(name: &str) -> bool {
    name != "sqlite"
}

/// An empty database.
pub(crate) async fn fresh(name: &str, directory: &Path) -> Outcome<Box<dyn Backend>> {
    Ok(match name {
        "postgres" => Box::new(postgres::Postgres::fresh().await?),
        "mysql" => Box::new(mysql::Mysql::fresh().await?),
        "sqlite" => Box::new(sqlite::Sqlite::fresh(directory)?),
        other => return Err(format!("there is no backend `{other}`").into()),
    })
}

/// What a run has left in the tables.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Tables {
    /// Rows by label.
    pub(crate) effects: BTreeMap<String, u64>,
    /// How often each derived key was called with, by label.
    pub(crate) calls: BTreeMap<String, BTreeMap<String, u64>>,
    /// Scope and key of what is not recorded.
    pub(crate) pending: Vec<String>,
    /// Transactions and locks.
    pub(crate) open: Vec<String>,
    /// Messages by their ids.
    pub(crate) outbox: BTreeMap<String, Message>,
}

/// What the outbox says of a message.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Message {
    pub(crate) position: u64,
    pub(crate) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) enum State {
    Waiting,
    Sent,
    Dead,
}

impl Tables {
    pub(crate) async fn read(backend: &dyn Backend) -> Outcome<Self> {
        let mut tables = Self::default();
        let effects = "SELECT label AS a, count(*) || '' AS b FROM effects GROUP BY label";
        for row in backend.rows(effects).await? {
            let (label, count) = two(row)?;
            tables.effects.insert(label, count.parse()?);
        }
        for row in backend
            .rows(r#"SELECT label AS a, "key" AS b FROM calls"#)
            .await?
        {
            let (label, key) = two(row)?;
            *tables
                .calls
                .entry(label)
                .or_default()
                .entry(key)
                .or_default() += 1;
        }
        let pending = r#"SELECT scope AS a, "key" AS b FROM idempotency_keys WHERE status IS NULL"#;
        for row in backend.rows(pending).await? {
            let (scope, key) = two(row)?;
            tables.pending.push(format!("{scope} {key}"));
        }
        Ok(tables)
    }

    /// What is in the outbox, which grows with the run.
    pub(crate) async fn read_outbox(&mut self, backend: &dyn Backend) -> Outcome {
        let query = format!(
            "SELECT {} AS a, position || CASE WHEN dead_at IS NOT NULL THEN ' dead'
             WHEN sent_at IS NOT NULL THEN ' sent' ELSE ' waiting' END AS b FROM idempotency_outbox",
            backend.message_id()
        );
        for row in backend.rows(&query).await? {
            let (id, rest) = two(row)?;
            let (position, state) = rest.split_once(' ').ok_or("two words")?;
            let message = Message {
                position: position.parse()?,
                state: match state {
                    "sent" => State::Sent,
                    "dead" => State::Dead,
                    _ => State::Waiting,
                },
            };
            self.outbox.insert(id, message);
        }
        Ok(())
    }
}

pub(crate) fn two(row: Row) -> Outcome<(String, String)> {
    match <[_; 2]>::try_from(row) {
        Ok([Some(a), Some(b)]) => Ok((a, b)),
        other => Err(format!("not two texts: {other:?}").into()),
    }
}

/// To a process, which may not be there any more.
async fn signal(name: &str, process: u32) -> Outcome<bool> {
    let script = [
        "-c",
        r#"kill -"$1" "$2" 2>/dev/null"#,
        "sh",
        name,
        &process.to_string(),
    ];
    Ok(Command::new("sh").args(script).status().await?.success())
}
