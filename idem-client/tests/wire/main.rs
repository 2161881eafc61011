//! The client against a server that drops the connection before, during and behind the commit: real sockets, one effect.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod drops;
mod logging;
mod process;
mod resuming;
mod sending;
mod server;

use std::time::Duration;

use idem_client::{Builder, ExponentialBuilder, IdempotentClient};

/// Longer than any of these tests takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn builder() -> Builder {
    IdempotentClient::builder()
        .attempt_timeout(PATIENCE)
        .budget(PATIENCE)
        .backoff(backoff())
}

/// Pauses that nobody notices.
fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(20))
        .without_max_times()
}

fn client() -> IdempotentClient {
    builder().build().unwrap()
}
