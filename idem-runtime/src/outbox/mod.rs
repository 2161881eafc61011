//! The outbox: messages to other systems that are queued in the handler's transaction, and published by
//! a relay once it has committed.
//!
//! No SQL.

#[cfg(feature = "nats")]
mod nats;
mod outgoing;
mod publisher;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(any(feature = "nats", feature = "rabbitmq", feature = "webhook"))]
mod sending;
#[cfg(feature = "webhook")]
mod webhook;

#[cfg(feature = "nats")]
pub use nats::NatsPublisher;
pub use outgoing::OutboxMessage;
pub use publisher::{PublishError, Publisher};
#[cfg(feature = "rabbitmq")]
pub use rabbitmq::{InvalidAmqpUrl, RabbitPublisher};
#[cfg(feature = "webhook")]
pub use webhook::{InvalidSecret, WebhookError, WebhookPublisher};
