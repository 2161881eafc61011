//! One attempt: the request is sent, and the answer is read whole.
//!
//! It decides nothing and never tries twice.

use std::time::Duration;

use reqwest::header::HeaderName;
use tokio::time::timeout;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::PendingOperation;

/// Whatever can make an attempt.
pub(crate) trait Attempt {
    /// The answer with its whole body, within this time.
    fn once(
        &self,
        operation: &PendingOperation,
        time: Duration,
    ) -> impl Future<Output = Result<Answer, Failed>> + Send;
}

/// How an attempt failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// There can be no such request, and nothing was sent.
    Request(reqwest::Error),
    /// On its way.
    Way(Failure),
}

/// Attempts over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    pub(crate) client: reqwest::Client,
    pub(crate) replayed_header: HeaderName,
}

impl Attempt for Http {
    async fn once(&self, operation: &PendingOperation, time: Duration) -> Result<Answer, Failed> {
        let exchange = timeout(time, self.exchange(operation));
        exchange.await.unwrap_or(Err(Failed::Way(Failure::Timeout)))
    }
}

impl Http {
    async fn exchange(&self, operation: &PendingOperation) -> Result<Answer, Failed> {
        let response = self.client.execute(operation.request()).await;
        let response = response.map_err(|error| failed(error.without_url()))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| {
            let source = error.without_url();
            Failed::Way(Failure::Cut { status, source })
        })?;
        Ok(Answer::new(status, headers, body, &self.replayed_header))
    }
}

fn failed(error: reqwest::Error) -> Failed {
    match () {
        () if error.is_builder() => Failed::Request(error),
        () if error.is_connect() => Failed::Way(Failure::Connect(error)),
        () => Failed::Way(Failure::Lost(error)),
    }
}
