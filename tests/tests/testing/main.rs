//! What a proof of `idem_runtime::testing` says of endpoints: of ours, on every backend and in every mode, and of a shop that is
//! wrong by hand.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blocking;
mod inline;
mod leased;
#[allow(dead_code, reason = "the settings' tests use more of it")]
#[path = "../settings/open.rs"]
mod open;
mod ours;
mod proofs;
mod shops;

leased::stamp! {
    postgres_leased Postgres diesel_async::AsyncPgConnection,
    idem_runtime::pool::postgres_config()
}

leased::stamp! {
    mysql_leased Mysql diesel_async::AsyncMysqlConnection,
    idem_runtime::pool::mysql_config()
}

leased::stamp! {
    sqlite_leased Sqlite diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
    idem_runtime::pool::sqlite_config()
}

ours::stamp! {
    postgres Postgres diesel_async::AsyncPgConnection,
    idem_runtime::pool::postgres_config()
}

ours::stamp! {
    mysql Mysql diesel_async::AsyncMysqlConnection,
    idem_runtime::pool::mysql_config()
}

ours::stamp! {
    sqlite Sqlite diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
    idem_runtime::pool::sqlite_config()
}

blocking::stamp! {
    postgres_blocking Postgres diesel::PgConnection,
    idem_runtime::pool::postgres_customizer()
}

#[cfg(feature = "mysql-blocking")]
blocking::stamp! {
    mysql_blocking Mysql diesel::MysqlConnection,
    idem_runtime::pool::mysql_customizer()
}

blocking::stamp! {
    sqlite_blocking Sqlite diesel::SqliteConnection,
    idem_runtime::pool::sqlite_customizer()
}
