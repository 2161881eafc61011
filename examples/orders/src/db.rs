//! Which database, its tables and its pools. Nothing of HTTP.

use std::env;
use std::fmt;

use diesel::Connection;
use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::bb8::Pool;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncMigrationHarness, AsyncPgConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use idem_runtime::migrations;
use idem_runtime::pool::{postgres_config, sqlite_config};

use crate::errors::StartError;

pub(crate) type AsyncSqliteConnection = SyncConnectionWrapper<SqliteConnection>;

const POSTGRES_TABLES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
const SQLITE_TABLES: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// The database that the environment names.
#[derive(Clone)]
pub(crate) enum Database {
    /// A SQLite file, by its path.
    Sqlite(String),
    /// A PostgreSQL database, by its URL.
    Postgres(String),
}

impl Database {
    /// PostgreSQL if `DATABASE_URL` is a URL of one, otherwise the SQLite file `ORDERS_DB`, or `orders.db`.
    pub(crate) fn from_env() -> Self {
        match env::var("DATABASE_URL") {
            Ok(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Self::Postgres(url)
            }
            _ => Self::Sqlite(env::var("ORDERS_DB").unwrap_or_else(|_| "orders.db".to_owned())),
        }
    }

    /// Brings the tables up to date: those of idem-runtime and our own, in diesel's harness.
    ///
    /// It blocks, and diesel-async's harness needs a runtime with more than one thread: call it before
    /// actix's own runtime exists.
    pub(crate) fn migrate(&self) -> Result<(), StartError> {
        match self {
            Self::Sqlite(path) => {
                let mut connection = SqliteConnection::establish(path)?;
                connection
                    .batch_execute("PRAGMA busy_timeout = 5000")
                    .map_err(|error| StartError::Migrate(error.into()))?;
                for tables in [migrations::sqlite(), migrations::outbox_sqlite()] {
                    connection
                        .run_pending_migrations(tables)
                        .map_err(StartError::Migrate)?;
                }
                connection
                    .run_pending_migrations(SQLITE_TABLES)
                    .map_err(StartError::Migrate)?;
            }
            Self::Postgres(url) => {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(1)
                    .enable_all()
                    .build()
                    .map_err(StartError::Runtime)?;
                runtime.block_on(migrate_postgres(url))?;
            }
        }
        Ok(())
    }
}

async fn migrate_postgres(url: &str) -> Result<(), StartError> {
    let mut harness = AsyncMigrationHarness::new(AsyncPgConnection::establish(url).await?);
    for tables in [migrations::postgres(), migrations::outbox_postgres()] {
        harness
            .run_pending_migrations(tables)
            .map_err(StartError::Migrate)?;
    }
    harness
        .run_pending_migrations(POSTGRES_TABLES)
        .map_err(StartError::Migrate)?;
    Ok(())
}

/// The URL of a PostgreSQL database contains a password, so it is not shown.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "SQLite in {path}"),
            Self::Postgres(_) => f.write_str("PostgreSQL, as DATABASE_URL says"),
        }
    }
}

/// A pool whose connections are set up by idem-runtime's helper.
pub(crate) async fn postgres_pool(url: &str) -> Result<Pool<AsyncPgConnection>, StartError> {
    let manager = AsyncDieselConnectionManager::new_with_config(url, postgres_config());
    Ok(Pool::builder().max_size(10).build(manager).await?)
}

/// A small pool: SQLite has one writer at a time, the others are for reading.
pub(crate) async fn sqlite_pool(path: &str) -> Result<Pool<AsyncSqliteConnection>, StartError> {
    let manager = AsyncDieselConnectionManager::new_with_config(path, sqlite_config());
    Ok(Pool::builder().max_size(4).build(manager).await?)
}
