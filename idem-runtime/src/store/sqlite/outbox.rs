//! The outbox on SQLite: how its statements are run. Each is one hop to the blocking thread.

use diesel::{QueryResult, RunQueryDsl, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

use crate::store::outbox::{DeadRow, Queue, TakenRow};
use crate::store::statement::{BacklogQuery, DeadQuery, DueQuery, Statement, TakenQuery};
use crate::transaction::sqlite as transaction;

impl RunQueryDsl<SqliteConnection> for TakenQuery {}
impl RunQueryDsl<SqliteConnection> for DeadQuery {}
impl RunQueryDsl<SqliteConnection> for DueQuery {}
impl RunQueryDsl<SqliteConnection> for BacklogQuery {}

impl Queue for SyncConnectionWrapper<SqliteConnection> {
    const WAKES: bool = false;

    /// Whoever writes is alone, so that positions are in the order of the commits without a lock.
    async fn queue(connection: &mut Self, _: Option<i64>, insert: Statement) -> QueryResult<usize> {
        connection
            .spawn_blocking(move |connection| {
                transaction::inside(connection)?;
                insert.execute(connection)
            })
            .await
    }

    async fn take(connection: &mut Self, query: TakenQuery) -> QueryResult<Vec<TakenRow>> {
        connection
            .spawn_blocking(move |connection| query.get_results(connection))
            .await
    }

    async fn dead(connection: &mut Self, query: DeadQuery) -> QueryResult<Vec<DeadRow>> {
        connection
            .spawn_blocking(move |connection| query.get_results(connection))
            .await
    }

    async fn due(connection: &mut Self, query: DueQuery) -> QueryResult<Vec<(bool, Option<i64>)>> {
        connection
            .spawn_blocking(move |connection| query.get_results(connection))
            .await
    }

    async fn backlog(
        connection: &mut Self,
        query: BacklogQuery,
    ) -> QueryResult<Vec<(i64, Option<i64>)>> {
        connection
            .spawn_blocking(move |connection| query.get_results(connection))
            .await
    }

    async fn listen(_: &mut Self, _: impl Fn()) -> QueryResult<()> {
        Ok(())
    }
}
