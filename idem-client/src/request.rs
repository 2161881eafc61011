//! A request as it is written, until it is an operation.
//!
//! It hands on to reqwest's own builder, and keeps what that one does not know.

use std::fmt;
use std::time::{Duration, SystemTime};

use reqwest::RequestBuilder;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;

use crate::client::IdempotentClient;
use crate::error::NotSent;
use crate::key::Key;
use crate::operation::{PendingOperation, Terms};
use crate::outcome::Outcome;

/// A request that is being written.
#[must_use = "it does nothing until it is sent or prepared"]
pub struct Request {
    client: IdempotentClient,
    http: RequestBuilder,
    terms: Terms,
}

impl Request {
    pub(crate) fn new(client: IdempotentClient, http: RequestBuilder) -> Self {
        Self {
            client,
            http,
            terms: Terms::default(),
        }
    }

    /// The key that the caller has made and kept, instead of a new one. Also for a method that needs none.
    ///
    /// It is taken for one that was made just now and never sent. If it was made before, say [when](Self::created); if it may have been
    /// sent, [that too](Self::may_have_arrived).
    pub fn key(mut self, key: Key) -> Self {
        self.terms.key = Some(key);
        self
    }

    /// When the key was made, if not now: the operation is as old as its key. Without it, a key that was kept for a day counts as
    /// new, and is sent when the server may have forgotten it.
    pub fn created(mut self, time: SystemTime) -> Self {
        self.terms.created = Some(time);
        self
    }

    /// This key may have been sent before, by somebody. A refusal that is not marked as a replay says nothing of that attempt, and is
    /// then an unknown outcome.
    pub fn may_have_arrived(mut self) -> Self {
        self.terms.may_have_arrived = true;
        self
    }

    /// How long the server retains what became of this operation, where that is not the
    /// [client's](crate::Builder::retention) setting.
    pub fn retention(mut self, time: Duration) -> Self {
        self.terms.retention = Some(time);
        self
    }

    /// A header. The key's is marked sensitive.
    pub fn header(self, name: HeaderName, mut value: HeaderValue) -> Self {
        if name == *self.client.key_header() {
            value.set_sensitive(true);
        }
        self.with(|http| http.header(name, value))
    }

    /// A header that is printed and saved nowhere.
    pub fn secret_header(self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.header(name, value)
    }

    /// `Authorization: Bearer TOKEN`. It is not saved with the operation.
    pub fn bearer_auth(self, token: impl fmt::Display) -> Self {
        self.with(|http| http.bearer_auth(token))
    }

    /// A JSON body. It is written now, and the same bytes are sent at every attempt.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        self.with(|http| http.json(body))
    }

    /// A body. A stream is refused, because it cannot be sent twice.
    pub fn body(self, body: impl Into<reqwest::Body>) -> Self {
        self.with(|http| http.body(body))
    }

    /// Everything else that reqwest's builder can do.
    pub fn with(mut self, write: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        self.http = write(self.http);
        self
    }

    /// Makes the operation, with its key, and sends nothing: to be saved, and then [run](IdempotentClient::run).
    ///
    /// # Errors
    ///
    /// It cannot be sent, or not twice.
    pub fn prepare(self) -> Result<PendingOperation, NotSent> {
        let (_, operation) = self.prepared()?;
        Ok(operation)
    }

    /// Makes the operation, with its key, and runs it. What was not finished is in the outcome.
    ///
    /// # Errors
    ///
    /// Nothing was sent: see [`NotSent`]. Everything else is an [`Outcome`].
    pub async fn send(self) -> Result<Outcome, NotSent> {
        let (client, mut operation) = self.prepared()?;
        client.run(&mut operation).await
    }

    fn prepared(self) -> Result<(IdempotentClient, PendingOperation), NotSent> {
        let request = self.http.build();
        let request = request.map_err(|error| NotSent::Request(error.without_url()))?;
        let operation = self.client.prepare_under(&request, self.terms)?;
        Ok((self.client, operation))
    }
}

/// Neither the URL, which may have secrets in its query, nor headers, nor the body.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
