//! What an application sets on the builder and in the attribute, in one process and with handlers of its own, on every
//! backend and with all pools.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blocking;
mod cases;
mod handlers;
mod leased;
mod only_mysql;
#[cfg(feature = "mysql-blocking")]
mod only_mysql_blocking;
mod only_postgres;
mod only_sqlite;
mod open;
mod sealed;

cases::stamp! {
    postgres Postgres diesel_async::AsyncPgConnection,
    idem_runtime::pool::postgres_config(),
    "SELECT pg_sleep(3600)"
}

cases::stamp! {
    mysql Mysql diesel_async::AsyncMysqlConnection,
    idem_runtime::pool::mysql_config(),
    "SELECT sleep(3600)"
}

// It must end by itself, and take longer than the time-out.
cases::stamp! {
    sqlite Sqlite diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
    idem_runtime::pool::sqlite_config(),
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000000) SELECT count(*) FROM n"
}
