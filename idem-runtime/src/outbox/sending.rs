//! What the publishers on client libraries have in common: no attempt takes for ever.
//!
//! No client of a broker.

use std::time::Duration;

use super::PublishError;

/// How long one attempt may take, unless a publisher is told otherwise: less than a message is left to
/// its relay.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Nobody knows whether the message has arrived.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct NoAnswer(Duration);

/// What it comes to, or a temporary error when it takes too long. It is dropped then.
pub(super) async fn within<T>(
    timeout: Duration,
    attempt: impl Future<Output = Result<T, PublishError>>,
) -> Result<T, PublishError> {
    tokio::time::timeout(timeout, attempt)
        .await
        .unwrap_or_else(|_| Err(PublishError::temporary(NoAnswer(timeout))))
}
