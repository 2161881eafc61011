//! What takes messages to where they go, and what it may say of one that did not arrive.
//!
//! No SQL, no client of a broker.

use std::error::Error;
use std::time::Duration;

use super::OutboxMessage;

/// Takes one message to where it goes: a broker, an HTTP endpoint.
///
/// A message may be published more than once: its relay was killed before it could write down that it
/// had been sent, or nobody knows whether it arrived. It has the same [id](OutboxMessage::id) then, and
/// whoever implements this sends that id along as what duplicates are known by.
pub trait Publisher: Send + Sync + 'static {
    /// Publishes the message, and returns when the other side has taken it over for good.
    ///
    /// May be called for several messages at once; for those of one ordering key one after the other.
    /// May be dropped before it is done, when it takes longer than the message is left to its relay.
    fn publish(
        &self,
        message: &OutboxMessage,
    ) -> impl Future<Output = Result<(), PublishError>> + Send;
}

/// Why a message did not arrive, or why nobody knows.
#[derive(Debug, thiserror::Error)]
#[error("{}", if *.permanent { "the message is refused for good" } else { "the message did not arrive" })]
pub struct PublishError {
    permanent: bool,
    pause: Option<Duration>,
    source: Box<dyn Error + Send + Sync>,
}

impl PublishError {
    /// Another attempt may succeed: the other side is away, or busy, or nobody knows whether it has the
    /// message.
    pub fn temporary(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(false, source)
    }

    /// No attempt will ever succeed: the message is dead, and waits for somebody who looks at it.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(true, source)
    }

    pub(super) fn new(permanent: bool, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            permanent,
            pause: None,
            source: source.into(),
        }
    }

    /// The other side has said how long to wait before the next attempt. The relay waits at least as
    /// long, up to a day.
    #[must_use]
    pub fn after(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Whether no attempt will ever succeed.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        self.permanent
    }

    /// How long the other side has asked to wait.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        self.pause
    }
}
