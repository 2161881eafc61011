//! Messages to RabbitMQ.
//!
//! No SQL.

mod link;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapin::message::BasicReturnMessage;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString, ShortStringError};
use lapin::uri::AMQPUri;
use lapin::{BasicProperties, Channel, Confirmation, ErrorKind};
use tracing::dispatcher::Dispatch;
use tracing::instrument::WithSubscriber;

use super::sending::{TIMEOUT, within};
use super::{OutboxMessage, PublishError, Publisher};
use link::Link;

/// Delivery mode 2: a durable queue keeps the message on its disk.
const PERSISTENT: u8 = 2;

/// Publishes to RabbitMQ, and returns when the broker has confirmed that all queues the message was
/// routed to have it.
///
/// Goes to the [exchange](Self::exchange) with the topic as routing key, persistent, mandatory and with
/// publisher confirms. The message's headers become AMQP headers, its content type the property
/// `content_type`, and its id the property `message_id`.
///
/// It connects when there is something to publish, and again after the connection was lost. All
/// messages share one connection; each has a channel to itself while it is published.
///
/// # Once
///
/// RabbitMQ knows no duplicates: the consumer remembers `message_id`, in the transaction of what the
/// message does there. Queues must be durable, since a queue that is not forgets with its broker what
/// the broker has confirmed.
///
/// # Errors
///
/// Temporary: the broker cannot be reached or refuses the connection; the connection is lost; no
/// confirmation within the [timeout](Self::timeout), after which the message may have arrived; the
/// broker has not stored the message (`basic.nack`); no queue is bound to the routing key, or the
/// exchange is not there, since somebody may have yet to declare it.
///
/// Permanent: what is wrong with the message itself, namely a topic, content type or name of a header of
/// more than 255 bytes, and a message larger than the broker accepts.
///
/// # Cancellation
///
/// A call that is dropped may have sent the message. Its channel is closed.
///
/// # Examples
///
/// ```
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::outbox::RabbitPublisher;
///
/// let publisher = RabbitPublisher::new("amqp://user:password@localhost/%2f")?.exchange("events");
/// # Ok(())
/// # }
/// ```
///
/// TLS (`amqps`) is the application's choice: enable one of the TLS features of `lapin` on its own
/// dependency.
pub struct RabbitPublisher {
    link: Link,
    exchange: String,
    timeout: Duration,
    /// Open, and without a message of which nobody knows what became.
    idle: Mutex<Vec<Channel>>,
}

/// The URL is none of AMQP's. It is not repeated here: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("not a URL like amqp://user:password@host:5672/vhost")]
pub struct InvalidAmqpUrl;

/// What the broker said of a message.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("RabbitMQ could not route the message: {code} {text}")]
    Unroutable { code: u16, text: String },
    #[error("RabbitMQ has not stored the message")]
    NotStored,
    #[error("RabbitMQ was not asked for a confirmation")]
    Unconfirmed,
}

impl RabbitPublisher {
    /// A publisher to that broker, as `amqp://user:password@host:port/vhost`. Connects to nothing yet.
    ///
    /// # Errors
    ///
    /// The URL is none of AMQP's.
    pub fn new(url: &str) -> Result<Self, InvalidAmqpUrl> {
        let uri: AMQPUri = url.parse().map_err(|_| InvalidAmqpUrl)?;
        Ok(Self {
            link: Link::to(uri),
            exchange: String::new(),
            timeout: TIMEOUT,
            idle: Mutex::default(),
        })
    }

    /// The exchange, which must be there. Unless set it is the default one, where the routing key is a
    /// queue's name.
    #[must_use]
    pub fn exchange(mut self, exchange: impl Into<String>) -> Self {
        self.exchange = exchange.into();
        self
    }

    /// How long one attempt may take, connecting included; 10 seconds unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn send(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        let exchange = short(&self.exchange)?;
        let routing_key = short(message.topic())?;
        let properties = properties(message)?;
        // Not shared: the client gives a message that comes back to whichever confirmation comes next.
        let channel = self.channel().await?;
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let publish = async {
            let confirmation = channel.basic_publish(
                exchange,
                routing_key,
                options,
                message.payload(),
                properties,
            );
            confirmation.await?.await
        };
        // On a channel that has died the client logs what it does not send, with the payload.
        let publish = publish.with_subscriber(Dispatch::none());
        let confirmation = publish.await.map_err(judge)?;
        self.idle().push(channel);
        match confirmation {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(returned)) => Err(unroutable(&returned)),
            Confirmation::Nack(_) => Err(PublishError::temporary(Refused::NotStored)),
            Confirmation::NotRequested => Err(PublishError::temporary(Refused::Unconfirmed)),
        }
    }

    async fn channel(&self) -> Result<Channel, PublishError> {
        let idle = {
            let mut channels = self.idle();
            channels.retain(|channel| channel.status().connected());
            channels.pop()
        };
        if let Some(channel) = idle {
            return Ok(channel);
        }
        let connection = self.link.connection().await.map_err(judge)?;
        let channel = connection.create_channel().await.map_err(judge)?;
        let options = ConfirmSelectOptions::default();
        channel.confirm_select(options).await.map_err(judge)?;
        Ok(channel)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Channel>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publisher for RabbitPublisher {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        within(self.timeout, self.send(message)).await
    }
}

impl fmt::Debug for RabbitPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitPublisher")
            .field("exchange", &self.exchange)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

fn properties(message: &OutboxMessage) -> Result<BasicProperties, PublishError> {
    let mut headers = FieldTable::default();
    for (name, value) in message.headers() {
        headers.insert(short(name)?, AMQPValue::LongString(LongString::from(value)));
    }
    let properties = BasicProperties::default()
        .with_delivery_mode(PERSISTENT)
        .with_message_id(short(&message.id().to_string())?)
        .with_headers(headers);
    Ok(match message.content_type() {
        Some(media) => properties.with_content_type(short(media)?),
        None => properties,
    })
}

fn short(text: &str) -> Result<ShortString, PublishError> {
    ShortString::try_new(text).map_err(|error: ShortStringError| PublishError::permanent(error))
}

/// Of what came back only why it did: the rest is the payload.
fn unroutable(returned: &BasicReturnMessage) -> PublishError {
    PublishError::temporary(Refused::Unroutable {
        code: returned.reply_code,
        text: returned.reply_text.to_string(),
    })
}

/// A message that is larger than the broker accepts is the one precondition that a publication can fail.
fn judge(error: lapin::Error) -> PublishError {
    const TOO_LARGE: AMQPErrorKind = AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED);
    let is_permanent = match error.kind() {
        ErrorKind::ProtocolError(answer) => *answer.kind() == TOO_LARGE,
        _ => false,
    };
    PublishError::new(is_permanent, error)
}
