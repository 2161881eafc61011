//! Queueing a message in the open transaction: its id, and the order of one ordering key.
//!
//! No SQL.

use actix_web::ResponseError;
use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Message;
use crate::defects::{Defect, is_seeded};
use crate::digest::part;
use crate::key::IdempotencyKey;
use crate::scope::lock_number;
use crate::store::outbox::{self, NewMessage};
use crate::store::{Backend, BlockingBackend, address};

/// Why a message was not queued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// No transaction is open on the connection: the message would go out although the handler failed.
    #[error("a message can only be queued in a transaction")]
    NotInTransaction,
    /// It is not the connection of the transaction that the operation's record, or the record of the running
    /// step, goes with: the message could be there without it, and be queued again by the next run.
    #[error(
        "a message can only be queued on the connection of the handler, or of its running step"
    )]
    ForeignConnection,
    /// The payload cannot be written as JSON.
    #[error("the payload cannot be written as JSON")]
    Payload(#[source] serde_json::Error),
    /// A part of the message is empty, too long, or has signs that no broker takes.
    #[error("the {0} of the message is malformed")]
    Malformed(&'static str),
    /// The database did not take it.
    #[error("the message could not be queued")]
    Database(#[source] diesel::result::Error),
}

/// 500: the handler fails, and everything is rolled back.
impl ResponseError for EnqueueError {}

/// Queues a message with this value as JSON in the open transaction, and returns its id. It is published
/// after the commit, and never if there is none.
///
/// [`Message`] can say more of it.
///
/// # Errors
///
/// See [`EnqueueError`].
pub async fn enqueue<C, T>(
    conn: &mut C,
    key: &IdempotencyKey,
    topic: &str,
    payload: &T,
) -> Result<Uuid, EnqueueError>
where
    C: Backend,
    T: Serialize + ?Sized,
{
    write(conn, key, &Message::json(topic, payload)?).await
}

/// [`enqueue`] on the connection of a blocking handler.
///
/// # Errors
///
/// See [`EnqueueError`].
pub fn enqueue_blocking<C, T>(
    conn: &mut C,
    key: &IdempotencyKey,
    topic: &str,
    payload: &T,
) -> Result<Uuid, EnqueueError>
where
    C: BlockingBackend,
    T: Serialize + ?Sized,
{
    write_blocking(conn, key, &Message::json(topic, payload)?)
}

pub(super) async fn write<C: Backend>(
    conn: &mut C,
    key: &IdempotencyKey,
    message: &Message,
) -> Result<Uuid, EnqueueError> {
    let mut queued = placed(C::address(conn), key, message)?;
    if !outbox::queue(conn, stream(message), &queued).await? {
        queued.id = another();
        outbox::queue(conn, stream(message), &queued).await?;
    }
    if is_seeded(Defect::MessageOutsideTransaction) {
        commit_apart(conn).await?;
    }
    Ok(queued.id)
}

pub(super) fn write_blocking<C: BlockingBackend>(
    conn: &mut C,
    key: &IdempotencyKey,
    message: &Message,
) -> Result<Uuid, EnqueueError> {
    let mut queued = placed(address(conn), key, message)?;
    if !outbox::queue_blocking(conn, stream(message), &queued)? {
        queued.id = another();
        outbox::queue_blocking(conn, stream(message), &queued)?;
    }
    if is_seeded(Defect::MessageOutsideTransaction) {
        let committed = conn.commit();
        committed.map_err(|_| diesel::result::Error::RollbackTransaction)?;
        conn.begin(None)?;
    }
    Ok(queued.id)
}

/// The message at its place in the run whose connection is there.
fn placed<'a>(
    connection: usize,
    key: &'a IdempotencyKey,
    message: &'a Message,
) -> Result<NewMessage<'a>, EnqueueError> {
    message.check()?;
    let place = key.places.next(&message.topic, connection);
    let place = place.ok_or(EnqueueError::ForeignConnection)?;
    Ok(NewMessage {
        id: place.id(&key.scope, &key.key, &message.topic),
        scope: &key.scope,
        key: &key.key,
        topic: &message.topic,
        ordering_key: message.ordering_key.as_deref(),
        headers: serde_json::to_string(&message.headers).map_err(EnqueueError::Payload)?,
        content_type: message.content_type.as_deref(),
        payload: message.payload.clone(),
        delay: message.delay,
    })
}

/// For a message whose id is there already. No earlier run can have queued it: it would have been recorded as
/// well. The row is of an operation that had the same key, and whose record has outlived its retention.
fn another() -> Uuid {
    Uuid::new_v4()
}

/// The lock of the message's ordering key, if it has one.
fn stream(message: &Message) -> Option<i64> {
    let ordering_key = message.ordering_key.as_deref();
    ordering_key
        .filter(|_| !is_seeded(Defect::StreamLockSkipped))
        .map(stream_lock)
}

/// A seeded defect.
async fn commit_apart<C: Backend>(conn: &mut C) -> Result<(), EnqueueError> {
    let committed = C::commit(conn).await;
    committed.map_err(|_| diesel::result::Error::RollbackTransaction)?;
    Ok(C::begin(conn, None).await?)
}

/// The number of the lock under which the positions of one ordering key are given out.
pub(super) fn stream_lock(ordering_key: &str) -> i64 {
    let mut hash = Sha256::new();
    part(&mut hash, b"idem:stream:1");
    part(&mut hash, ordering_key.as_bytes());
    lock_number(&hash.finalize())
}

impl From<diesel::result::Error> for EnqueueError {
    fn from(error: diesel::result::Error) -> Self {
        match error {
            diesel::result::Error::NotInTransaction => Self::NotInTransaction,
            error => Self::Database(error),
        }
    }
}
