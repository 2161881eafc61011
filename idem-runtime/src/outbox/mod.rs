//! The outbox: messages to other systems that are queued in the handler's transaction, and published by
//! a relay once it has committed.
//!
//! No SQL.

mod outgoing;
mod publisher;

pub use outgoing::OutboxMessage;
pub use publisher::{PublishError, Publisher};
