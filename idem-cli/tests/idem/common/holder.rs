//! A transaction that somebody has left open.

use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use idem_tests::Backend;

use super::place::Place;

pub(crate) enum Holder {
    Postgres(Box<AsyncPgConnection>),
    Mysql(AsyncMysqlConnection),
    Sqlite(SyncConnectionWrapper<SqliteConnection>),
}

impl Holder {
    /// Has run this in it.
    pub(crate) async fn of(place: &Place, sql: &str) -> Self {
        let url = place.database.url();
        let mut holder = match place.database.backend() {
            Backend::Postgres => {
                Self::Postgres(Box::new(AsyncPgConnection::establish(url).await.unwrap()))
            }
            Backend::Mysql => Self::Mysql(AsyncMysqlConnection::establish(url).await.unwrap()),
            Backend::Sqlite => {
                let file = url.strip_prefix("sqlite://").unwrap();
                Self::Sqlite(SyncConnectionWrapper::establish(file).await.unwrap())
            }
        };
        if let Self::Sqlite(_) = holder {
            // The application may be closing its own.
            holder.execute("PRAGMA busy_timeout = 5000").await;
        }
        holder.execute("BEGIN").await;
        holder.execute(sql).await;
        holder
    }

    pub(crate) async fn execute(&mut self, sql: &str) {
        match self {
            Self::Postgres(connection) => connection.batch_execute(sql).await,
            Self::Mysql(connection) => connection.batch_execute(sql).await,
            Self::Sqlite(connection) => connection.batch_execute(sql).await,
        }
        .unwrap();
    }

    pub(crate) async fn end(mut self) {
        self.execute("COMMIT").await;
    }
}
