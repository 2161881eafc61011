//! Publishing what a relay has in hand: messages side by side, those of one ordering key one after the
//! other, and none after one that did not arrive.
//!
//! No SQL.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;
use uuid::Uuid;

use super::OutboxRelay;
use super::claims::Hand;
use super::marks::{Mark, mark};
use crate::defects::{Defect, is_seeded};
use crate::outbox::{OutboxMessage, PublishError, Publisher};
use crate::store::Backend;
use crate::store::outbox::TakenRow;
use crate::telemetry;

/// A message in hand, and its row.
struct Held {
    position: i64,
    message: Result<OutboxMessage, serde_json::Error>,
}

/// Publishes all of it, and returns when it is written down what became of each.
pub(super) async fn publish<C: Backend, P: Publisher>(
    relay: &OutboxRelay<C, P>,
    hand: Hand,
    stopped: &watch::Receiver<bool>,
) {
    let Hand {
        taken,
        until,
        publish_until,
        rows,
    } = hand;
    let (marks, marked) = mpsc::unbounded_channel();
    let publishing = async {
        let tell = |mark| {
            // Who writes them down is there until we are done.
            let _ = marks.send(mark);
        };
        let publisher = &relay.publisher;
        let runs = stream::iter(runs(rows));
        let run =
            |run| async move { publish_run(publisher, run, publish_until, stopped, &tell).await };
        runs.for_each_concurrent(relay.settings.concurrency, run)
            .await;
        drop(marks);
    };
    futures_util::join!(publishing, mark(relay, taken, until, marked));
}

/// One run for each message that is in no order, one for each order.
fn runs(rows: Vec<TakenRow>) -> Vec<Vec<Held>> {
    let mut runs: Vec<Vec<Held>> = Vec::new();
    let mut ordered = HashMap::new();
    for row in rows {
        let place = match &row.ordering_key {
            Some(key) => *ordered.entry(key.clone()).or_insert(runs.len()),
            None => runs.len(),
        };
        if place == runs.len() {
            runs.push(Vec::new());
        }
        runs[place].push(Held::new(row));
    }
    runs
}

async fn publish_run(
    publisher: &impl Publisher,
    run: Vec<Held>,
    until: Instant,
    stopped: &watch::Receiver<bool>,
    tell: &impl Fn(Mark),
) {
    let mut run = run.into_iter();
    for Held { position, message } in run.by_ref() {
        if *stopped.borrow() || Instant::now() >= until {
            tell(Mark::Untried(position));
            break;
        }
        let attempt = message.as_ref().map_or(1, OutboxMessage::attempt);
        if is_seeded(Defect::SentBeforePublished) {
            tell(Mark::Sent(position));
        }
        let published = match message {
            Ok(message) => publish_one(publisher, &message, until).await,
            Err(error) => Err(PublishError::permanent(error)),
        };
        match published {
            Ok(()) => tell(Mark::Sent(position)),
            Err(error) => {
                tell(Mark::Failed(position, attempt, error));
                if !is_seeded(Defect::OrderNotHeld) {
                    break;
                }
            }
        }
    }
    // Those behind it stay behind it.
    run.for_each(|held| tell(Mark::Untried(held.position)));
}

async fn publish_one(
    publisher: &impl Publisher,
    message: &OutboxMessage,
    until: Instant,
) -> Result<(), PublishError> {
    let span = telemetry::publishing(message.attempt());
    let publishing = AssertUnwindSafe(async { publisher.publish(message).await }).catch_unwind();
    let published = timeout_at(until, publishing.instrument(span.clone())).await;
    let published = match published {
        Ok(Ok(published)) => published,
        Ok(Err(_)) => Err(PublishError::temporary("the publisher panicked")),
        Err(_) => Err(PublishError::temporary(
            "the publisher did not return in time",
        )),
    };
    telemetry::ended(&span, if published.is_ok() { "sent" } else { "failed" });
    published
}

impl Held {
    fn new(row: TakenRow) -> Self {
        Self {
            position: row.position,
            message: read(row),
        }
    }
}

/// Fails where somebody else has written the headers.
fn read(row: TakenRow) -> Result<OutboxMessage, serde_json::Error> {
    Ok(OutboxMessage {
        id: Uuid::from_slice(&row.id).unwrap_or_default(),
        headers: serde_json::from_str(&row.headers)?,
        topic: row.topic,
        ordering_key: row.ordering_key,
        content_type: row.content_type,
        payload: row.payload.into(),
        attempt: u32::try_from(row.attempts + 1).unwrap_or(u32::MAX),
        age: Duration::from_millis(u64::try_from(row.age).unwrap_or_default()),
    })
}
