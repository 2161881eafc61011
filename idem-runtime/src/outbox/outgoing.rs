//! A message on its way out, as a publisher sees it.
//!
//! A pure value.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::Message;

/// A message to be published.
#[derive(Clone)]
pub struct OutboxMessage {
    pub(crate) id: Uuid,
    pub(crate) topic: String,
    pub(crate) ordering_key: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content_type: Option<String>,
    pub(crate) payload: Bytes,
    pub(crate) attempt: u32,
    pub(crate) age: Duration,
}

impl OutboxMessage {
    /// At its first attempt, right after it was queued.
    pub(crate) fn first(id: Uuid, message: Message) -> Self {
        Self {
            id,
            topic: message.topic,
            ordering_key: message.ordering_key,
            headers: message.headers,
            content_type: message.content_type,
            payload: message.payload,
            attempt: 1,
            age: Duration::ZERO,
        }
    }

    /// What duplicates are known by: the same each time this message is published, and in every run of
    /// the operation that has queued it.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// What it is about, in the application's words.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Messages with the same ordering key are published in the order in which they were committed.
    #[must_use]
    pub fn ordering_key(&self) -> Option<&str> {
        self.ordering_key.as_deref()
    }

    /// Names and values, in the order in which they were given.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The media type of the payload, if somebody has named it.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// What is sent.
    #[must_use]
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// Which attempt this is; the first is 1. One whose relay died is not counted.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How long ago it was queued, by the database's clock, when this attempt began.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.age
    }
}

/// Never the payload: it may be somebody's secret.
impl fmt::Debug for OutboxMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxMessage")
            .field("id", &self.id)
            .field("topic", &self.topic)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
