//! How a pool's connections are set up: once per connection, never per request.

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use diesel_async::pooled_connection::{ManagerConfig, RecyclingMethod};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use diesel_async::{AsyncConnection, SimpleAsyncConnection};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use futures_util::future::FutureExt;

/// Whether one of the functions below was called, so that `build()` can warn where none was.
static PREPARED: AtomicBool = AtomicBool::new(false);

pub(crate) fn prepared() -> bool {
    PREPARED.load(Ordering::Relaxed)
}

/// A server that has lost its client ends the client's transaction after this time; the keepalives
/// find out that a host has vanished. Sixty seconds are more than the default handler timeout.
#[cfg(feature = "postgres")]
const POSTGRES: &str = "SET idle_in_transaction_session_timeout = '60s'; \
     SET tcp_keepalives_idle = 30; \
     SET tcp_keepalives_interval = 10; \
     SET tcp_keepalives_count = 3";

#[cfg(feature = "sqlite")]
const SQLITE: &str = "PRAGMA busy_timeout = 5000; \
     PRAGMA journal_mode = WAL; \
     PRAGMA foreign_keys = ON";

/// The manager settings that we recommend for PostgreSQL.
///
/// Each new connection gets `idle_in_transaction_session_timeout` (60 s) and TCP keepalives, so that
/// the database itself ends the transaction of a host that vanished; a recycled one is taken as it
/// is (`Fast`), which saves a round trip per request. An endpoint whose handler idles inside its
/// transaction for longer needs a longer `idle_in_transaction_session_timeout` of its own.
#[cfg(feature = "postgres")]
#[must_use]
pub fn postgres_config() -> ManagerConfig<diesel_async::AsyncPgConnection> {
    config(POSTGRES)
}

/// The manager settings that we recommend for SQLite: WAL, foreign keys, and a busy timeout of 5 s.
#[cfg(feature = "sqlite")]
#[must_use]
pub fn sqlite_config() -> ManagerConfig<
    diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
> {
    config(SQLITE)
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
fn config<C>(set_up: &'static str) -> ManagerConfig<C>
where
    C: AsyncConnection + SimpleAsyncConnection + 'static,
{
    PREPARED.store(true, Ordering::Relaxed);
    let mut config = ManagerConfig::default();
    config.recycling_method = RecyclingMethod::Fast;
    config.custom_setup = Box::new(move |url| {
        let url = url.to_owned();
        async move {
            let mut connection = C::establish(&url).await?;
            connection
                .batch_execute(set_up)
                .await
                .map_err(diesel::ConnectionError::CouldntSetupConfiguration)?;
            Ok(connection)
        }
        .boxed()
    });
    config
}
