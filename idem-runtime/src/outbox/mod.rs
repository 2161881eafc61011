//! The outbox: messages to other systems that are queued in the handler's transaction, and published by
//! a relay once it has committed.
//!
//! A message is sent if, and only if, the transaction in which it was queued has committed: at least once,
//! always with the same [id](OutboxMessage::id), and in the order of the commits for each
//! [ordering key](Message::ordered_by).
//!
//! ```
//! # #[cfg(feature = "postgres")]
//! # mod example {
//! use actix_web::{HttpResponse, post};
//! use diesel_async::AsyncPgConnection;
//! use idem_runtime::outbox::{self, EnqueueError};
//! use idem_runtime::{IdempotencyKey, idempotent};
//!
//! #[post("/orders")]
//! #[idempotent]
//! async fn create_order(
//!     key: IdempotencyKey,
//!     conn: &mut AsyncPgConnection,
//! ) -> Result<HttpResponse, EnqueueError> {
//!     // … plain diesel …
//!     outbox::enqueue(conn, &key, "orders.created", &7).await?;
//!     Ok(HttpResponse::Created().finish())
//! }
//! # }
//! ```
//!
//! In lease mode a message is queued in the transaction of a step of [`Steps`](crate::Steps).
//!
//! The id of a message is derived from the operation's scope and key, the topic, and the place among the
//! messages of that topic that the handler, or the step, has queued: it is the same in every run of the
//! operation. A run that follows another one queues nothing a second time.
//!
//! Somebody has to run an [`OutboxRelay`]. One [`Publisher`] is the application's own or one of ours. The
//! table is that of [`migrations::outbox_postgres`], or of `idem migration generate --with outbox`.
//!
//! [`migrations::outbox_postgres`]: crate::migrations::outbox_postgres
//!
//! No SQL.

mod bell;
mod enqueue;
mod letters;
mod message;
#[cfg(feature = "nats")]
mod nats;
mod outgoing;
mod places;
mod publisher;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
mod relay;
#[cfg(any(feature = "nats", feature = "rabbitmq", feature = "webhook"))]
mod sending;
#[cfg(feature = "webhook")]
mod webhook;

pub(crate) use bell::Bell;
pub use enqueue::{EnqueueError, enqueue, enqueue_blocking};
pub use letters::{DeadMessage, dead, discard, requeue};
pub use message::Message;
#[cfg(feature = "nats")]
pub use nats::NatsPublisher;
pub use outgoing::OutboxMessage;
pub(crate) use places::Places;
pub use publisher::{PublishError, Publisher};
#[cfg(feature = "rabbitmq")]
pub use rabbitmq::{InvalidAmqpUrl, RabbitPublisher};
pub use relay::{OutboxRelay, RelayBuildError, RelayBuilder};
#[cfg(feature = "webhook")]
pub use webhook::{InvalidSecret, WebhookError, WebhookPublisher};
