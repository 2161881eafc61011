//! A message to be queued: what the application says of it, and what cannot be said.
//!
//! No SQL.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use uuid::Uuid;

use super::enqueue::{self, EnqueueError};
use crate::key::IdempotencyKey;
use crate::store::{Backend, BlockingBackend};

/// The longest topic, ordering key, content type, and name or value of a header, in bytes.
const MAX_LENGTH: usize = 1024;

/// A message to be queued.
#[derive(Clone)]
#[must_use = "it is queued by `enqueue`"]
pub struct Message {
    pub(super) topic: String,
    pub(super) payload: Bytes,
    pub(super) content_type: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) ordering_key: Option<String>,
    pub(super) delay: Duration,
}

impl Message {
    /// A message whose payload is this value as JSON.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON.
    pub fn json<T>(topic: &str, payload: &T) -> Result<Self, EnqueueError>
    where
        T: Serialize + ?Sized,
    {
        let payload = serde_json::to_vec(payload).map_err(EnqueueError::Payload)?;
        Ok(Self::bytes(topic, payload).content_type("application/json"))
    }

    /// A message with this payload.
    pub fn bytes(topic: &str, payload: impl Into<Bytes>) -> Self {
        Self {
            topic: topic.to_owned(),
            payload: payload.into(),
            content_type: None,
            headers: Vec::new(),
            ordering_key: None,
            delay: Duration::ZERO,
        }
    }

    /// The media type of the payload.
    pub fn content_type(mut self, media_type: &str) -> Self {
        self.content_type = Some(media_type.to_owned());
        self
    }

    /// One more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Messages with the same ordering key are published one after the other, in the order in which they
    /// were committed: a customer, an order.
    ///
    /// On PostgreSQL transactions that queue for the same ordering key wait for each other, from the
    /// first such message of the one to its end. Who queues for several of them in one transaction takes
    /// them in the same order everywhere, or may meet a deadlock.
    pub fn ordered_by(mut self, ordering_key: &str) -> Self {
        self.ordering_key = Some(ordering_key.to_owned());
        self
    }

    /// Is not published before this long from now. It holds those behind it in its order up.
    pub fn not_before(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Queues the message in the open transaction, and returns its id. It is published after the commit,
    /// and never if there is none.
    ///
    /// # Errors
    ///
    /// See [`EnqueueError`].
    pub async fn enqueue<C: Backend>(
        &self,
        conn: &mut C,
        key: &IdempotencyKey,
    ) -> Result<Uuid, EnqueueError> {
        enqueue::write(conn, key, self).await
    }

    /// [`enqueue`](Self::enqueue) on the connection of a blocking handler.
    ///
    /// # Errors
    ///
    /// See [`EnqueueError`].
    pub fn enqueue_blocking<C: BlockingBackend>(
        &self,
        conn: &mut C,
        key: &IdempotencyKey,
    ) -> Result<Uuid, EnqueueError> {
        enqueue::write_blocking(conn, key, self)
    }

    /// What no broker takes, or what would be something else on the way: a line end in a header is
    /// another header.
    pub(super) fn check(&self) -> Result<(), EnqueueError> {
        let has_word = |text: &str| {
            let is_word = |sign: char| !sign.is_whitespace() && !sign.is_control();
            !text.is_empty() && text.chars().all(is_word)
        };
        let has_value = |text: &str| !text.chars().any(char::is_control);
        let is_name = |text: &str| {
            let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !text.is_empty() && text.bytes().all(is_sign)
        };
        let fits = |text: &str| text.len() <= MAX_LENGTH;
        let is_right = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or("-");
            !text.is_empty() && has_value(text) && fits(text)
        };
        let header = |(name, value): &(String, String)| {
            is_name(name) && has_value(value) && fits(name) && fits(value)
        };
        if !(has_word(&self.topic) && fits(&self.topic)) {
            return Err(EnqueueError::Malformed("topic"));
        }
        if !self.headers.iter().all(header) {
            return Err(EnqueueError::Malformed("header"));
        }
        if !is_right(&self.ordering_key) {
            return Err(EnqueueError::Malformed("ordering key"));
        }
        if !is_right(&self.content_type) {
            return Err(EnqueueError::Malformed("content type"));
        }
        Ok(())
    }
}

/// Never the payload: it may be somebody's secret.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Message {
        Message::bytes("orders.created", "x")
    }

    #[test]
    fn what_a_broker_takes() {
        let message = plain().header("X-Kind", "a, b").content_type("text/plain");
        message.ordered_by("customer 7 ü").check().unwrap();
    }

    #[test]
    fn what_would_be_something_else_on_the_way() {
        for topic in ["", "a b", "a\nb", "a\0b"] {
            Message::bytes(topic, "x").check().unwrap_err();
        }
        for (name, value) in [("", "x"), ("a b", "x"), ("a:", "x"), ("a", "x\r\nb: y")] {
            plain().header(name, value).check().unwrap_err();
        }
        plain().ordered_by("").check().unwrap_err();
        plain().ordered_by("a\0").check().unwrap_err();
        plain().content_type("a\nb").check().unwrap_err();
        let long = "x".repeat(MAX_LENGTH + 1);
        Message::bytes(&long, "x").check().unwrap_err();
        plain().header("a", &long).check().unwrap_err();
    }

    #[test]
    fn debug_does_not_tell_the_payload() {
        assert!(!format!("{:?}", Message::bytes("t", "secret")).contains("secret"));
    }
}
