//! Dead messages: for an operator's list, and to have one sent after all or forgotten.
//!
//! No SQL.

use std::time::Duration;

use diesel::QueryResult;
use uuid::Uuid;

use super::enqueue::stream_lock;
use crate::store::Backend;
use crate::store::outbox::{self, DeadRow};

/// A message that was given up: its publisher refused it for good, or its attempts are used up. Those behind
/// it in its order have gone on without it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadMessage {
    /// Where it stands among them: where the next page begins, behind the last one of this.
    pub position: i64,
    /// Its id.
    pub id: Uuid,
    /// The scope of the operation that queued it.
    pub scope: String,
    /// The client's key of the operation that queued it.
    pub key: String,
    /// What it is about.
    pub topic: String,
    /// What it is in order with.
    pub ordering_key: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// How long ago it was given up, by the database's clock.
    pub dead_for: Duration,
}

impl DeadMessage {
    fn new(row: DeadRow) -> Self {
        Self {
            position: row.position,
            id: Uuid::from_slice(&row.id).unwrap_or_default(),
            scope: row.scope,
            key: row.key,
            topic: row.topic,
            ordering_key: row.ordering_key,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            last_error: row.last_error,
            dead_for: Duration::from_millis(u64::try_from(row.since).unwrap_or_default()),
        }
    }
}

/// The dead messages in their order, at most `limit`: those behind this [position](DeadMessage::position), or
/// the first ones. A page that is shorter is the last one.
///
/// # Errors
///
/// The database's error.
pub async fn dead<C: Backend>(
    conn: &mut C,
    after: Option<i64>,
    limit: u32,
) -> QueryResult<Vec<DeadMessage>> {
    let rows = outbox::dead(conn, after.unwrap_or(i64::MIN), limit).await?;
    Ok(rows.into_iter().map(DeadMessage::new).collect())
}

/// Has a dead message sent after all, with all its attempts before it, and says whether there was one. It
/// has its old id, and comes behind all that is queued in its order.
///
/// In an open transaction or outside of one. On PostgreSQL it waits, as whoever queues does, for
/// transactions that have queued for the same [ordering key](super::Message::ordered_by).
///
/// # Errors
///
/// The database's error.
pub async fn requeue<C: Backend>(conn: &mut C, id: Uuid) -> QueryResult<bool> {
    let Some(dead) = outbox::dead_one(conn, id).await? else {
        return Ok(false);
    };
    let stream = dead.ordering_key.as_deref().map(stream_lock);
    Ok(C::requeue(conn, stream, id).await? > 0)
}

/// Forgets a dead message for good, and says whether there was one. It is as if it had never been queued: a run of
/// its operation that follows, in lease mode, may queue it again.
///
/// In an open transaction or outside of one.
///
/// # Errors
///
/// The database's error.
pub async fn discard<C: Backend>(conn: &mut C, id: Uuid) -> QueryResult<bool> {
    outbox::discard(conn, id).await
}
