//! The tables: the runtime's and our own, on either backend.

use std::error::Error;
use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::migration::MigrationSource;
use diesel::mysql::Mysql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use diesel_async::{
    AsyncConnection, AsyncMigrationHarness, AsyncMysqlConnection, AsyncPgConnection,
    SimpleAsyncConnection,
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use idem_runtime::migrations;

const MYSQL: EmbeddedMigrations = embed_migrations!("migrations/mysql");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Two processes that start at the same moment both try: the second one then finds everything there.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(50);

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Which backend, and how to reach it.
#[derive(Clone)]
pub(crate) enum Url {
    Mysql(String),
    Postgres(String),
    Sqlite(String),
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("sqlite://") {
            return Ok(Self::Sqlite(path.into()));
        }
        if ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return Ok(Self::Postgres(text.into()));
        }
        if text.starts_with("mysql://") {
            return Ok(Self::Mysql(text.into()));
        }
        Err(format!(
            "`{text}` is none of sqlite://PATH, postgres://… and mysql://…"
        ))
    }

    /// As diesel's connections take it.
    pub(crate) fn for_diesel(&self) -> &str {
        let (Self::Mysql(text) | Self::Postgres(text) | Self::Sqlite(text)) = self;
        text
    }
}

pub(crate) fn run(url: &Url) -> Outcome {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let outcome = match url {
            Url::Mysql(url) => mysql(url),
            Url::Postgres(url) => postgres(url),
            Url::Sqlite(path) => sqlite(path),
        };
        match outcome {
            Err(_) if attempt < ATTEMPTS => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}

/// The harness blocks in place, which only a runtime with several threads allows.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
}

/// These databases commit each change of a table by itself, and two that migrate at once would find each other's
/// halves: the one waits for the other.
fn mysql(url: &str) -> Outcome {
    runtime()?.block_on(async {
        let mut connection = AsyncMysqlConnection::establish(url).await?;
        let lock = "SELECT GET_LOCK(concat('migrate ', database()), 60)";
        connection.batch_execute(lock).await?;
        let mut harness = AsyncMigrationHarness::new(connection);
        apply::<Mysql, _>(&mut harness, migrations::mysql())?;
        apply::<Mysql, _>(&mut harness, migrations::outbox_mysql())?;
        apply::<Mysql, _>(&mut harness, migrations::inbox_mysql())?;
        apply::<Mysql, _>(&mut harness, MYSQL)
    })
}

fn postgres(url: &str) -> Outcome {
    runtime()?.block_on(async {
        let connection = AsyncPgConnection::establish(url).await?;
        let mut harness = AsyncMigrationHarness::new(connection);
        apply::<Pg, _>(&mut harness, migrations::postgres())?;
        apply::<Pg, _>(&mut harness, migrations::outbox_postgres())?;
        apply::<Pg, _>(&mut harness, migrations::inbox_postgres())?;
        apply::<Pg, _>(&mut harness, POSTGRES)
    })
}

fn sqlite(path: &str) -> Outcome {
    let mut connection = SqliteConnection::establish(path)?;
    connection.batch_execute("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000;")?;
    apply::<Sqlite, _>(&mut connection, migrations::sqlite())?;
    apply::<Sqlite, _>(&mut connection, migrations::outbox_sqlite())?;
    apply::<Sqlite, _>(&mut connection, migrations::inbox_sqlite())?;
    apply::<Sqlite, _>(&mut connection, SQLITE)
}

fn apply<DB: diesel::backend::Backend, S: MigrationSource<DB>>(
    harness: &mut impl MigrationHarness<DB>,
    source: S,
) -> Outcome {
    harness.run_pending_migrations(source)?;
    Ok(())
}
