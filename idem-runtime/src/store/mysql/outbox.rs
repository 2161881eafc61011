//! The outbox on MySQL and MariaDB: how its statements are run.

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{AsyncMysqlConnection, RunQueryDsl};
use uuid::Uuid;

use super::lease::asked;
use crate::store::lease::Leases;
use crate::store::outbox::Queue;
use crate::store::questions::{awaited, questions};
use crate::store::statement::{Piece, Statement, statement};
use crate::store::{CommitError, Store};
use crate::transaction::mysql as transaction;

impl Queue for AsyncMysqlConnection {
    const LISTENS: bool = false;

    const TELLS: bool = false;

    async fn queue(
        connection: &mut Self,
        lock: Option<i64>,
        insert: Statement,
    ) -> QueryResult<usize> {
        transaction::inside(connection)?;
        take_turns(connection, lock).await?;
        unless_there(insert.execute(connection).await)
    }

    /// It is written anew, because a row gets its number when it is inserted. The old row makes room for it.
    async fn requeue(connection: &mut Self, lock: Option<i64>, id: Uuid) -> QueryResult<usize> {
        let is_inside = transaction::inside(connection).is_ok();
        if !is_inside {
            Store::begin(connection, None).await?;
        }
        let requeued = requeue(connection, lock, id).await;
        match requeued {
            Ok(_) if is_inside => {}
            Ok(_) => Store::commit(connection)
                .await
                .map_err(CommitError::into_source)?,
            Err(_) if is_inside => {}
            // Otherwise the next one would take our transaction for the caller's.
            Err(_) => Store::rollback(connection).await?,
        }
        requeued
    }

    questions! { queue awaited }

    async fn wake(_: &mut Self) -> QueryResult<()> {
        Ok(())
    }

    async fn listen(_: &mut Self, _: impl Fn()) -> QueryResult<()> {
        Ok(())
    }
}

/// The INSERT of a message that is there already fails, by itself.
pub(super) fn unless_there(inserted: QueryResult<usize>) -> QueryResult<usize> {
    match inserted {
        Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)) => Ok(0),
        inserted => inserted,
    }
}

async fn requeue(
    connection: &mut AsyncMysqlConnection,
    lock: Option<i64>,
    id: Uuid,
) -> QueryResult<usize> {
    take_turns(connection, lock).await?;
    Leases::execute(connection, requeued(id)).await
}

/// Has a dead message sent after all, under a new number.
pub(super) fn requeued(id: Uuid) -> Statement {
    statement![
        "REPLACE INTO idempotency_outbox (message_id, scope, `key`, topic, ordering_key, headers, \
         content_type, payload, enqueued_at, last_error, available_at) \
         SELECT message_id, scope, `key`, topic, ordering_key, headers, content_type, payload, \
         enqueued_at, last_error, ",
        Piece::Now,
        " FROM idempotency_outbox WHERE dead_at IS NOT NULL AND message_id = ",
        id,
    ]
}

async fn take_turns(connection: &mut AsyncMysqlConnection, lock: Option<i64>) -> QueryResult<()> {
    match lock {
        Some(number) => turn(number).execute(connection).await.map(drop),
        None => Ok(()),
    }
}

/// Whoever queues for an ordering key waits here for the end of the transaction that did so before. A lock on a
/// row ends with its transaction, whoever ends that; a named lock would not. The row changes, so that in a Galera
/// cluster, whose nodes lock for themselves, only one of those commits who have it at once.
pub(super) fn turn(number: i64) -> Statement {
    statement![
        "INSERT INTO idempotency_outbox_turns (turn) VALUES (",
        Piece::Number(number.rem_euclid(TURNS)),
        ") ON DUPLICATE KEY UPDATE taken = taken + 1",
    ]
}

/// How many rows there are for ordering keys to share, at most: two keys that meet wait for each other.
const TURNS: i64 = 1 << 20;
