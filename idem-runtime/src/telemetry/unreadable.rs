//! What is stored and cannot be read: each time it is met.

use metrics::counter;

use super::names::UNREADABLE;
use crate::operation::Chain;
use crate::seal::Unreadable;

/// Counts it, and says so in the log.
pub(crate) fn unreadable(endpoint: &str, error: &Unreadable) {
    let reason = error.reason();
    counter!(UNREADABLE, "endpoint" => endpoint.to_owned(), "reason" => reason).increment(1);
    tracing::error!(endpoint, reason, error = %Chain(error), "what is stored cannot be read");
}
