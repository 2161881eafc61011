//! Messages to NATS JetStream.
//!
//! No SQL.

use std::fmt;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::context::{self, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{Context, ErrorCode};
use async_nats::{HeaderMap, HeaderName, HeaderValue, Subject};

use super::sending::{TIMEOUT, within};
use super::{OutboxMessage, PublishError, Publisher};

/// Publishes to NATS JetStream, and returns when a stream has stored the message and said so.
///
/// The subject is the [prefix](Self::prefix) and the message's topic. The message's headers become NATS
/// headers, its content type becomes `Content-Type`, and its id becomes `Nats-Msg-Id`.
///
/// # Once
///
/// JetStream drops a message whose `Nats-Msg-Id` it has stored within the stream's duplicate window
/// (`duplicate_window`, two minutes unless configured), and acknowledges it all the same. A message can
/// come again later than that: set the window longer than your relays may be away, or have the consumer
/// remember the ids.
///
/// # Errors
///
/// Temporary: the client is not connected (it reconnects by itself); no acknowledgement within the
/// [timeout](Self::timeout), after which the message may have arrived; no stream has the subject, also
/// because JetStream has not come up yet; whatever JetStream refuses, such as a full stream.
///
/// Permanent: what is wrong with the message itself, namely a topic that is no subject, a header that
/// NATS cannot carry, and a message larger than the server or the stream accepts.
///
/// # Cancellation
///
/// A call that is dropped may have sent the message. Published again it has the same id.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::outbox::NatsPublisher;
///
/// let client = async_nats::connect("nats://localhost").await?;
/// let publisher = NatsPublisher::new(async_nats::jetstream::new(client)).prefix("shop.");
/// # Ok(())
/// # }
/// ```
///
/// TLS is the application's choice: enable `ring` or `aws-lc-rs` on its own `async-nats`.
#[derive(Clone)]
pub struct NatsPublisher {
    jetstream: Context,
    prefix: String,
    timeout: Duration,
}

/// Why the message was not even sent.
#[derive(Debug, thiserror::Error)]
enum Unsendable {
    #[error("not connected to NATS")]
    Disconnected,
    #[error("the topic makes no subject of NATS")]
    Subject,
    #[error("a header of the message is none of NATS's")]
    Header,
}

impl NatsPublisher {
    /// A publisher on the application's own client. It creates no stream: one that has the subjects must
    /// be there.
    #[must_use]
    pub fn new(jetstream: Context) -> Self {
        Self {
            jetstream,
            prefix: String::new(),
            timeout: TIMEOUT,
        }
    }

    /// What stands before the topic in the subject, its dot included; nothing unless set.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long one attempt may take; 10 seconds unless set. The context has a timeout of its own for
    /// acknowledgements: the shorter one counts.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn send(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        let subject = Subject::validated(format!("{}{}", self.prefix, message.topic()))
            .map_err(|_| PublishError::permanent(Unsendable::Subject))?;
        let headers =
            headers(message).ok_or_else(|| PublishError::permanent(Unsendable::Header))?;
        // The client would keep what it cannot send, once for each attempt, and send it all later.
        if self.jetstream.client().connection_state() != State::Connected {
            return Err(PublishError::temporary(Unsendable::Disconnected));
        }
        let publish = PublishMessage::build()
            .headers(headers)
            .message_id(message.id().to_string())
            .payload(message.payload().clone());
        let stored = self.jetstream.send_publish(subject, publish).await;
        stored.map_err(judge)?.await.map_err(judge)?;
        Ok(())
    }
}

impl Publisher for NatsPublisher {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        within(self.timeout, self.send(message)).await
    }
}

impl fmt::Debug for NatsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsPublisher")
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// `None` if one of them is none of NATS's.
fn headers(message: &OutboxMessage) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let content_type = message.content_type().map(|media| ("Content-Type", media));
    for (name, value) in message.headers().chain(content_type) {
        let name: HeaderName = name.parse().ok()?;
        let value: HeaderValue = value.parse().ok()?;
        headers.append(name, value);
    }
    Some(headers)
}

fn judge(error: context::PublishError) -> PublishError {
    let is_permanent = match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => true,
        PublishErrorKind::Other => is_too_large(&error),
        _ => false,
    };
    PublishError::new(is_permanent, error)
}

/// For its stream, not for the server.
fn is_too_large(error: &context::PublishError) -> bool {
    let source = std::error::Error::source(error);
    source
        .and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>())
        .is_some_and(|answer| answer.error_code() == ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM)
}
