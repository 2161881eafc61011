//! The spans of work that no request waits for. What an application makes up, as a topic or an ordering key, is in no
//! attribute: it may have ids in it; nor is a message's id, which is a plain digest of its key.

use tracing::field::{Empty, display};
use tracing::{Span, debug_span};

use super::names;

/// That of a worker's turn. It belongs to nothing else that goes on.
pub(crate) fn worker_turn(worker: &'static str) -> Span {
    debug_span!(
        parent: None,
        names::WORKER_TURN_SPAN,
        idempotency.worker = worker,
        idempotency.result = Empty,
    )
}

/// That of a relay's turn.
pub(crate) fn relay_turn() -> Span {
    debug_span!(
        parent: None,
        names::OUTBOX_TURN_SPAN,
        messaging.batch.message_count = Empty,
        idempotency.result = Empty,
    )
}

/// A relay has taken so many messages in this turn.
pub(crate) fn took(turn: &Span, messages: usize) {
    turn.record("messaging.batch.message_count", messages);
}

/// That of one attempt to publish one message.
pub(crate) fn publishing(attempt: u32) -> Span {
    debug_span!(
        names::OUTBOX_PUBLISH_SPAN,
        messaging.operation.type = "send",
        idempotency.attempt = attempt,
        idempotency.result = Empty,
    )
}

/// Says how it went.
pub(crate) fn ended(span: &Span, result: &'static str) {
    span.record("idempotency.result", display(result));
}
