//! Manager settings for the pools of diesel-async, with connections that are set up as `setup` says.

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::AsyncConnection;
use diesel_async::pooled_connection::{ManagerConfig, PoolableConnection, RecyclingMethod};
use futures_util::future::{BoxFuture, FutureExt};

use crate::pool::setup::{self, SetUp};

/// The manager settings that we recommend for PostgreSQL.
///
/// Each new connection is [set up](crate::pool::set_up_postgres); a recycled one is only asked whether
/// it has been closed, which costs no round trip. The connections do not use TLS: where they have to,
/// take a `custom_setup` of your own that calls [`set_up_postgres`](crate::pool::set_up_postgres).
#[cfg(feature = "postgres")]
#[must_use]
pub fn postgres_config() -> ManagerConfig<diesel_async::AsyncPgConnection> {
    config(&setup::POSTGRES)
}

/// The manager settings that we recommend for MySQL and MariaDB; each new connection is
/// [set up](crate::pool::set_up_mysql).
#[cfg(feature = "mysql")]
#[must_use]
pub fn mysql_config() -> ManagerConfig<diesel_async::AsyncMysqlConnection> {
    config(&setup::MYSQL)
}

/// The manager settings that we recommend for SQLite; each new connection is
/// [set up](crate::pool::set_up_sqlite).
#[cfg(feature = "sqlite")]
#[must_use]
pub fn sqlite_config() -> ManagerConfig<
    diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
> {
    config(&setup::SQLITE)
}

fn config<C>(set_up: &'static SetUp) -> ManagerConfig<C>
where
    C: AsyncConnection + PoolableConnection + 'static,
{
    set_up.ask();
    let mut config = ManagerConfig::default();
    config.recycling_method = RecyclingMethod::CustomFunction(Box::new(is_alive));
    config.custom_setup = Box::new(move |url| {
        let url = url.to_owned();
        async move {
            let mut connection = C::establish(&url).await?;
            set_up
                .apply(&mut connection)
                .await
                .map_err(diesel::ConnectionError::CouldntSetupConfiguration)?;
            Ok(connection)
        }
        .boxed()
    });
    config
}

/// What can be known without a round trip.
fn is_alive<C: PoolableConnection>(connection: &mut C) -> BoxFuture<'_, QueryResult<()>> {
    let alive = match connection.is_broken() {
        false => Ok(()),
        true => Err(Error::DatabaseError(
            DatabaseErrorKind::ClosedConnection,
            Box::new("the connection is closed".to_owned()),
        )),
    };
    std::future::ready(alive).boxed()
}
