//! The outbox on SQLite: how its statements are run. Each is one hop to the blocking thread.

use diesel::{QueryResult, RunQueryDsl, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use uuid::Uuid;

use super::lease::questions;
use crate::store::lease::Leases;
use crate::store::outbox::{DeadRow, Queue, TakenRow};
use crate::store::statement::{
    BacklogQuery, DeadQuery, DueQuery, LookQuery, Piece, Statement, TakenQuery, statement,
};
use crate::transaction::sqlite as transaction;

impl RunQueryDsl<SqliteConnection> for LookQuery {}
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

    /// It is written anew, because a row that is only renumbered leaves the table's counter behind, and its
    /// number would come again when it has gone. The old row makes room for it.
    async fn requeue(connection: &mut Self, _: Option<i64>, id: Uuid) -> QueryResult<usize> {
        let requeue = statement![
            "INSERT OR REPLACE INTO idempotency_outbox (message_id, scope, key, topic, ordering_key, \
             headers, content_type, payload, enqueued_at, last_error, available_at) \
             SELECT message_id, scope, key, topic, ordering_key, headers, content_type, payload, \
             enqueued_at, last_error, ",
            Piece::Now,
            " FROM idempotency_outbox WHERE dead_at IS NOT NULL AND message_id = ",
            id,
        ];
        <Self as Leases>::execute(connection, requeue).await
    }

    questions! {
        heads(LookQuery) -> (String, i64, bool);
        take(TakenQuery) -> TakenRow;
        dead(DeadQuery) -> DeadRow;
        due(DueQuery) -> (bool, Option<i64>);
        backlog(BacklogQuery) -> (i64, Option<i64>);
    }

    async fn wake(_: &mut Self) -> QueryResult<()> {
        Ok(())
    }

    async fn listen(_: &mut Self, _: impl Fn()) -> QueryResult<()> {
        Ok(())
    }
}
