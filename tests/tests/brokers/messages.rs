//! Messages as a relay hands them out, and what is asked of the answers.

use std::error::Error;
use std::time::{Duration, Instant};

use idem_runtime::outbox::{Message, OutboxMessage, PublishError, Publisher};
use idem_runtime::testing::outbox_message;
use uuid::Uuid;

/// Longer than any attempt takes that is not held up.
const SOON: Duration = Duration::from_secs(5);

/// Nobody else's.
pub(crate) fn unique(name: &str) -> String {
    format!("{name}-{}", Uuid::new_v4().simple())
}

pub(crate) fn outgoing(message: Message) -> OutboxMessage {
    outbox_message(Uuid::new_v4(), message)
}

/// With this topic, and the rest of no importance.
pub(crate) fn plain(topic: &str) -> OutboxMessage {
    outgoing(Message::bytes(topic, "payload"))
}

/// How it failed: for now.
pub(crate) async fn temporary(publisher: &impl Publisher, message: &OutboxMessage) -> PublishError {
    let error = failed(publisher, message).await;
    assert!(!error.is_permanent(), "{}", chain(&error));
    error
}

/// How it failed: for good.
pub(crate) async fn permanent(publisher: &impl Publisher, message: &OutboxMessage) -> PublishError {
    let error = failed(publisher, message).await;
    assert!(error.is_permanent(), "{}", chain(&error));
    error
}

async fn failed(publisher: &impl Publisher, message: &OutboxMessage) -> PublishError {
    let start = Instant::now();
    let error = publisher.publish(message).await.expect_err("it fails");
    assert!(start.elapsed() < SOON, "after {:?}", start.elapsed());
    error
}

/// All that an error says.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
