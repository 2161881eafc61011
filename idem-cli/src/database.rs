//! One connection to the database, of whichever backend its URL names.

use std::fs;
use std::time::Duration;

use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use idem_runtime::pool;
use tokio::time::timeout;

use crate::args::Backend;
use crate::defaults::backend_of;
use crate::error::Error;

/// How long a server may take to answer at all.
const PATIENCE: u64 = 10;

pub(crate) enum Connection {
    Postgres(AsyncPgConnection),
    Mysql(AsyncMysqlConnection),
    Sqlite(SyncConnectionWrapper<SqliteConnection>),
}

/// The same with a connection of any kind: `on!(connection, conn => list(conn).await)`.
macro_rules! on {
    ($connection:expr, $name:ident => $work:expr) => {
        match $connection {
            $crate::database::Connection::Postgres($name) => $work,
            $crate::database::Connection::Mysql($name) => $work,
            $crate::database::Connection::Sqlite($name) => $work,
        }
    };
}
pub(crate) use on;

pub(crate) async fn connect(url: &str) -> Result<Connection, Error> {
    match backend_of(url)? {
        Backend::Postgres => {
            let mut connection = establish::<AsyncPgConnection>(url).await?;
            pool::set_up_postgres(&mut connection).await?;
            Ok(Connection::Postgres(connection))
        }
        Backend::Mysql => {
            let mut connection = establish::<AsyncMysqlConnection>(url).await?;
            pool::set_up_mysql(&mut connection).await?;
            Ok(Connection::Mysql(connection))
        }
        Backend::Sqlite => {
            let path = path(url);
            // SQLite makes a file that is not there. The path may be a URL of another kind, with a password.
            fs::metadata(path).map_err(|error| {
                Error::Usage(format!("the SQLite file cannot be opened: {error}"))
            })?;
            let mut connection = establish(path).await?;
            // Not the whole set-up of a pool, which makes the file one with a write-ahead log.
            let set_up = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON";
            SimpleAsyncConnection::batch_execute(&mut connection, set_up).await?;
            Ok(Connection::Sqlite(connection))
        }
    }
}

fn path(url: &str) -> &str {
    let path = url
        .strip_prefix("sqlite://")
        .or_else(|| url.strip_prefix("sqlite:"));
    let path = path.or_else(|| url.strip_prefix("file://"));
    path.or_else(|| url.strip_prefix("file:")).unwrap_or(url)
}

async fn establish<C: AsyncConnection>(url: &str) -> Result<C, Error> {
    match timeout(Duration::from_secs(PATIENCE), C::establish(url)).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(Error::Unreachable(error)),
        Err(_) => Err(Error::Silent(PATIENCE)),
    }
}
