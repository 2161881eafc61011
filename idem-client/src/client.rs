//! The client: what a caller holds.
//!
//! It makes operations and runs them; how is said elsewhere.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use reqwest::header::HeaderName;
use reqwest::{IntoUrl, Method};

use crate::attempt::Http;
use crate::builder::{Builder, warn_of};
use crate::drive::{Limits, drive};
use crate::error::{BuildError, NotSent};
use crate::operation::{Keys, PendingOperation, Terms};
use crate::outcome::Outcome;
use crate::request::Request;

/// An HTTP client that sends an operation until its outcome is known, under one key. Cheap to clone; clones share connections.
///
/// # Cancellation
///
/// Dropping the future of [`send`](Request::send), [`execute`](Self::execute) or [`run`](Self::run) ends the attempt that is under
/// way, and does not undo it: the outcome is unknown. With `run` the caller still has the operation, and can run it again. With
/// the others key and operation are lost, so use them where nobody drops the call.
#[derive(Clone)]
pub struct IdempotentClient(Arc<Inner>);

struct Inner {
    http: Http,
    keys: Keys,
    limits: Limits,
}

impl IdempotentClient {
    /// A client with the default settings.
    ///
    /// # Errors
    ///
    /// The HTTP client cannot be built.
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// A client with other settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new_with(http: Http, keys: Keys, limits: Limits) -> Self {
        Self(Arc::new(Inner { http, keys, limits }))
    }

    /// An operation with `POST`.
    pub fn post(&self, url: impl IntoUrl) -> Request {
        self.request(Method::POST, url)
    }

    /// An operation with `PATCH`.
    pub fn patch(&self, url: impl IntoUrl) -> Request {
        self.request(Method::PATCH, url)
    }

    /// An operation, or a request that is idempotent by its method (RFC 9110, section 9.2.2) and gets no key.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> Request {
        Request::new(self.clone(), self.0.http.client.request(method, url))
    }

    /// Sends a request that was made elsewhere. A key that it has is kept.
    ///
    /// # Errors
    ///
    /// Nothing was sent: see [`NotSent`]. Everything else is an [`Outcome`].
    pub async fn execute(&self, request: reqwest::Request) -> Result<Outcome, NotSent> {
        self.run(&mut self.prepare(&request)?).await
    }

    /// Makes an operation of a request, to be [run](Self::run) by and by. Its key is made now.
    ///
    /// # Errors
    ///
    /// It cannot be sent, or not twice.
    pub fn prepare(&self, request: &reqwest::Request) -> Result<PendingOperation, NotSent> {
        self.prepare_under(request, Terms::default())
    }

    pub(crate) fn prepare_under(
        &self,
        request: &reqwest::Request,
        mut terms: Terms,
    ) -> Result<PendingOperation, NotSent> {
        match terms.retention {
            Some(retention) => warn_of(self.0.limits.budget, retention),
            None => terms.retention = self.0.limits.retention,
        }
        PendingOperation::of(request, &self.0.keys, terms)
    }

    /// Sends an operation until its outcome is known, or the budget is used up: now, or after a restart, or for the second time after
    /// an unknown outcome. Its key, header and form are those that it was made with.
    ///
    /// Run one operation at one time: a second run beside the first is told that it is in flight.
    ///
    /// # Errors
    ///
    /// Nothing was sent: see [`NotSent`]. Everything else is an [`Outcome`].
    pub async fn run(&self, operation: &mut PendingOperation) -> Result<Outcome, NotSent> {
        drive(&self.0.http, &self.0.limits, operation, &SystemTime::now).await
    }

    pub(crate) fn key_header(&self) -> &HeaderName {
        &self.0.keys.header
    }
}

/// Its limits.
impl fmt::Debug for IdempotentClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotentClient")
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}
