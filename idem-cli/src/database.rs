//! One connection to a database of each backend. None of them waits without end for what somebody else has locked. It
//! is less than the ten seconds that the runtime waits for the answer to a statement: that it was given up is then known.

use std::fs;
use std::time::Duration;

use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use idem_runtime::pool;
use tokio::time::timeout;

use crate::error::Error;

/// How long a server may take to answer at all.
const PATIENCE: u64 = 10;

pub(crate) async fn postgres(url: &str) -> Result<AsyncPgConnection, Error> {
    let mut connection = establish(url).await?;
    pool::set_up_postgres(&mut connection).await?;
    connection.batch_execute("SET lock_timeout = '3s'").await?;
    Ok(connection)
}

pub(crate) async fn mysql(url: &str) -> Result<AsyncMysqlConnection, Error> {
    let mut connection = establish(url).await?;
    pool::set_up_mysql(&mut connection).await?;
    // The runtime tries some of its statements ten times.
    let bounded = "SET SESSION innodb_lock_wait_timeout = 1, SESSION lock_wait_timeout = 1";
    connection.batch_execute(bounded).await?;
    Ok(connection)
}

pub(crate) async fn sqlite(url: &str) -> Result<SyncConnectionWrapper<SqliteConnection>, Error> {
    let path = path(url);
    // SQLite makes a file that is not there. The path may be a URL of another kind, with a password.
    fs::metadata(path)
        .map_err(|error| Error::Usage(format!("the SQLite file cannot be opened: {error}")))?;
    let mut connection: SyncConnectionWrapper<_> = establish(path).await?;
    // Not the whole set-up of a pool, which makes the file one with a write-ahead log.
    let set_up = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON";
    connection.batch_execute(set_up).await?;
    Ok(connection)
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
