//! The statements of the inbox: which messages a consumer has worked on.
//!
//! No SQL of one backend, no decisions about how long.

use std::time::Duration;

use diesel::QueryResult;
use uuid::Uuid;

use super::outbox::Queue;
use super::statement::{Piece, statement};

/// Marks a message in the open transaction, and says whether it was new. On PostgreSQL this waits for
/// another transaction that is working on the same message.
pub(crate) async fn mark<C: Queue>(
    connection: &mut C,
    consumer: &str,
    id: Uuid,
) -> QueryResult<bool> {
    let mark = statement![
        "INSERT INTO idempotency_inbox (consumer, message_id, received_at) VALUES (",
        Piece::Text(consumer.into()),
        ", ",
        id,
        ", ",
        Piece::Now,
        ")",
        Piece::UnlessThere("consumer, message_id"),
    ];
    Ok(C::queue(connection, None, mark).await? > 0)
}

/// Forgets at most `limit` messages that were worked on longer ago than this.
pub(crate) async fn prune<C: Queue>(
    connection: &mut C,
    kept: Duration,
    limit: u32,
) -> QueryResult<usize> {
    if !C::CHANGES_AT_ONCE {
        let prune = statement![
            "DELETE FROM idempotency_inbox WHERE received_at <= ",
            Piece::Earlier(statement![Piece::milliseconds(kept)]),
            " ORDER BY received_at LIMIT ",
            Piece::Number(limit.into()),
        ];
        return C::execute(connection, prune).await;
    }
    let old = statement![
        "SELECT consumer, message_id FROM idempotency_inbox WHERE received_at <= ",
        Piece::Earlier(statement![Piece::milliseconds(kept)]),
        " ORDER BY received_at LIMIT ",
        Piece::Number(limit.into()),
        Piece::SkipLocked,
    ];
    let prune = statement![
        "DELETE FROM idempotency_inbox WHERE (consumer, message_id) IN (",
        old,
        ")",
    ];
    C::execute(connection, prune).await
}
