//! The statements of the outbox. A relay takes messages under a token of its own, and each statement that
//! says what became of one names that token: what it did not find, somebody else has.
//!
//! No SQL of one backend, no decisions about when or how often.

mod relay;

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use diesel::QueryResult;
use diesel::prelude::Queryable;
use uuid::Uuid;

use super::blocking::Phases;
use super::lease::Leases;
use super::statement::{
    BacklogQuery, DeadQuery, DueQuery, LookQuery, Piece, Statement, TakenQuery, statement,
};

pub(crate) use relay::{
    Bounds, Reached, Taken, backlog, due, give_back, give_back_all, give_up, look, prune, put_off,
    sent, take,
};

/// What the outbox asks of a backend.
pub trait Queue: Leases {
    /// Whether whoever waits for messages on such a connection is woken by the database.
    const LISTENS: bool;

    /// Whether somebody may be waiting in that way, on whatever connection.
    const TELLS: bool;

    /// Runs one INSERT in the open transaction, and says whether it inserted; behind the lock of this
    /// number, which is held until the transaction ends. `NotInTransaction` where none is open.
    fn queue(
        connection: &mut Self,
        lock: Option<i64>,
        insert: Statement,
    ) -> impl Future<Output = QueryResult<usize>>;

    /// Has this dead message sent after all, as the last one of its order; behind the lock of this number,
    /// as in [`Self::queue`].
    fn requeue(
        connection: &mut Self,
        lock: Option<i64>,
        id: Uuid,
    ) -> impl Future<Output = QueryResult<usize>>;

    fn heads(
        connection: &mut Self,
        query: LookQuery,
    ) -> impl Future<Output = QueryResult<Vec<(String, i64, bool)>>>;

    fn take(
        connection: &mut Self,
        query: TakenQuery,
    ) -> impl Future<Output = QueryResult<Vec<TakenRow>>>;

    fn dead(
        connection: &mut Self,
        query: DeadQuery,
    ) -> impl Future<Output = QueryResult<Vec<DeadRow>>>;

    fn due(
        connection: &mut Self,
        query: DueQuery,
    ) -> impl Future<Output = QueryResult<Vec<(bool, Option<i64>)>>>;

    fn backlog(
        connection: &mut Self,
        query: BacklogQuery,
    ) -> impl Future<Output = QueryResult<Vec<(i64, Option<i64>)>>>;

    /// Wakes whoever waits for messages.
    fn wake(connection: &mut Self) -> impl Future<Output = QueryResult<()>>;

    /// Calls `wake` once and then whenever somebody has committed messages, until the connection is lost.
    fn listen(connection: &mut Self, wake: impl Fn()) -> impl Future<Output = QueryResult<()>>;
}

/// A message to be queued.
pub(crate) struct NewMessage<'a> {
    pub(crate) id: Uuid,
    pub(crate) scope: &'a str,
    pub(crate) key: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) ordering_key: Option<&'a str>,
    pub(crate) headers: String,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) payload: Bytes,
    /// How long from now nobody takes it.
    pub(crate) delay: Duration,
}

/// A message that a relay has taken.
#[derive(Debug, Queryable)]
pub struct TakenRow {
    pub(crate) position: i64,
    pub(crate) id: Vec<u8>,
    pub(crate) topic: String,
    pub(crate) ordering_key: Option<String>,
    pub(crate) headers: String,
    pub(crate) content_type: Option<String>,
    pub(crate) payload: Vec<u8>,
    /// Those that have come to an end.
    pub(crate) attempts: i64,
    /// Milliseconds since it was queued.
    pub(crate) age: i64,
}

/// A message that was given up.
#[derive(Debug, Queryable)]
pub struct DeadRow {
    pub(crate) position: i64,
    pub(crate) id: Vec<u8>,
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) topic: String,
    pub(crate) ordering_key: Option<String>,
    pub(crate) attempts: i64,
    pub(crate) last_error: Option<String>,
    /// Milliseconds since it was given up.
    pub(crate) since: i64,
}

const NULL: Piece = Piece::Sql("NULL");

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

/// Queues a message in the open transaction, unless it is queued already.
pub(crate) async fn queue<C: Queue>(
    connection: &mut C,
    lock: Option<i64>,
    message: &NewMessage<'_>,
) -> QueryResult<bool> {
    Ok(C::queue(connection, lock, insert(message)).await? > 0)
}

/// The same on the thread of the connection.
pub(crate) fn queue_blocking<C: Phases>(
    connection: &mut C,
    lock: Option<i64>,
    message: &NewMessage<'_>,
) -> QueryResult<bool> {
    Ok(connection.queue(lock, insert(message))? > 0)
}

fn insert(message: &NewMessage<'_>) -> Statement {
    statement![
        "INSERT INTO idempotency_outbox (message_id, scope, ",
        Piece::Key,
        ", topic, ordering_key, headers, content_type, payload, enqueued_at, available_at) VALUES (",
        message.id,
        ", ",
        text(message.scope),
        ", ",
        text(message.key),
        ", ",
        text(message.topic),
        ", ",
        message.ordering_key.map_or(NULL, text),
        ", ",
        text(&message.headers),
        ", ",
        message.content_type.map_or(NULL, text),
        ", ",
        Piece::Bytes(message.payload.clone()),
        ", ",
        Piece::Now,
        ", ",
        Piece::later(message.delay),
        ")",
        Piece::UnlessThere("message_id"),
    ]
}

/// The dead messages behind this position, in their order.
pub(crate) async fn dead<C: Queue>(
    connection: &mut C,
    after: i64,
    limit: u32,
) -> QueryResult<Vec<DeadRow>> {
    let some = statement![
        " AND position > ",
        Piece::Number(after),
        " ORDER BY position LIMIT ",
        Piece::Number(limit.into()),
    ];
    select_dead(connection, some).await
}

/// This message, if it is dead.
pub(crate) async fn dead_one<C: Queue>(
    connection: &mut C,
    id: Uuid,
) -> QueryResult<Option<DeadRow>> {
    let one = statement![" AND message_id = ", id];
    Ok(select_dead(connection, one).await?.pop())
}

/// Deletes this message, if it is dead.
pub(crate) async fn discard<C: Queue>(connection: &mut C, id: Uuid) -> QueryResult<bool> {
    let discard = statement![
        "DELETE FROM idempotency_outbox WHERE dead_at IS NOT NULL AND message_id = ",
        id,
    ];
    Ok(C::execute(connection, discard).await? > 0)
}

async fn select_dead<C: Queue>(connection: &mut C, which: Statement) -> QueryResult<Vec<DeadRow>> {
    let dead = statement![
        "SELECT position, ",
        Piece::BytesOfId("message_id"),
        ", scope, ",
        Piece::Key,
        ", topic, ordering_key, ",
        Piece::Wide("attempts"),
        ", last_error, ",
        Piece::Since("dead_at"),
        " FROM idempotency_outbox WHERE dead_at IS NOT NULL",
        which,
    ];
    C::dead(connection, DeadQuery(dead)).await
}
