//! How a pool's connections are set up: once per connection, never per request.

use std::sync::atomic::{AtomicBool, Ordering};

use diesel::QueryResult;
use diesel_async::SimpleAsyncConnection;

/// A server that has lost its client ends the client's transaction after this time; the keepalives
/// find out that a host has vanished. Sixty seconds are more than the default handler time-out.
#[cfg(feature = "postgres")]
pub(crate) static POSTGRES: SetUp = SetUp::new(
    "SET idle_in_transaction_session_timeout = '60s'; \
     SET tcp_keepalives_idle = 30; \
     SET tcp_keepalives_interval = 10; \
     SET tcp_keepalives_count = 3",
);

/// A server that has lost its client ends the client's session, which holds its locks: when it idles, and on
/// MariaDB (in the comment) sooner where a transaction is open. Each statement commits by itself, whatever the
/// server's default.
#[cfg(feature = "mysql")]
pub(crate) static MYSQL: SetUp = SetUp::new(
    "SET SESSION autocommit = 1, SESSION wait_timeout = 900 \
     /*M! , SESSION idle_transaction_timeout = 60 */",
);

#[cfg(feature = "sqlite")]
pub(crate) static SQLITE: SetUp = SetUp::new(
    "PRAGMA busy_timeout = 5000; \
     PRAGMA journal_mode = WAL; \
     PRAGMA foreign_keys = ON",
);

/// A connection's settings, and whether the process has ever asked for them.
pub(crate) struct SetUp {
    statements: &'static str,
    asked_for: AtomicBool,
}

impl SetUp {
    const fn new(statements: &'static str) -> Self {
        Self {
            statements,
            asked_for: AtomicBool::new(false),
        }
    }

    pub(super) fn ask(&self) {
        self.asked_for.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_asked_for(&self) -> bool {
        self.asked_for.load(Ordering::Relaxed)
    }

    pub(super) async fn apply(
        &self,
        connection: &mut impl SimpleAsyncConnection,
    ) -> QueryResult<()> {
        self.ask();
        connection.batch_execute(self.statements).await
    }

    pub(super) fn apply_blocking(
        &self,
        connection: &mut impl diesel::connection::SimpleConnection,
    ) -> QueryResult<()> {
        self.ask();
        connection.batch_execute(self.statements)
    }
}

/// Sets a new connection up: `idle_in_transaction_session_timeout` (60 s) and TCP keepalives, so that
/// the database itself ends the transaction of a host that vanished.
///
/// An endpoint whose handler idles inside its transaction for longer needs a longer
/// `idle_in_transaction_session_timeout`, set after this.
///
/// # Errors
///
/// The database's.
#[cfg(feature = "postgres")]
pub async fn set_up_postgres(connection: &mut diesel_async::AsyncPgConnection) -> QueryResult<()> {
    POSTGRES.apply(connection).await
}

/// Sets a new connection up: `wait_timeout` (15 min), and on MariaDB `idle_transaction_timeout` (60 s), so that
/// the database itself ends the session of a host that vanished; and `autocommit`.
///
/// # Errors
///
/// The database's.
#[cfg(feature = "mysql")]
pub async fn set_up_mysql(connection: &mut diesel_async::AsyncMysqlConnection) -> QueryResult<()> {
    MYSQL.apply(connection).await
}

/// Sets a new connection up: WAL, foreign keys, and a busy time-out of 5 s.
///
/// # Errors
///
/// The database's.
#[cfg(feature = "sqlite")]
pub async fn set_up_sqlite(
    connection: &mut diesel_async::sync_connection_wrapper::SyncConnectionWrapper<
        diesel::SqliteConnection,
    >,
) -> QueryResult<()> {
    SQLITE.apply(connection).await
}

/// [`set_up_postgres`] for a connection of diesel itself.
///
/// # Errors
///
/// The database's.
#[cfg(feature = "postgres-blocking")]
pub fn set_up_postgres_blocking(connection: &mut diesel::PgConnection) -> QueryResult<()> {
    POSTGRES.apply_blocking(connection)
}

/// [`set_up_mysql`] for a connection of diesel itself.
///
/// # Errors
///
/// The database's.
#[cfg(feature = "mysql-blocking")]
pub fn set_up_mysql_blocking(connection: &mut diesel::MysqlConnection) -> QueryResult<()> {
    MYSQL.apply_blocking(connection)
}

/// [`set_up_sqlite`] for a connection of diesel itself.
///
/// # Errors
///
/// The database's.
#[cfg(feature = "sqlite")]
pub fn set_up_sqlite_blocking(connection: &mut diesel::SqliteConnection) -> QueryResult<()> {
    SQLITE.apply_blocking(connection)
}
