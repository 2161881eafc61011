//! Writing down what became of messages, as many at once as have become ready meanwhile.
//!
//! No SQL.

use std::error::Error;
use std::time::Duration;

use metrics::counter;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::builder::DAY;
use super::{OutboxRelay, RelayError};
use crate::operation::Chain;
use crate::outbox::{PublishError, Publisher};
use crate::store::Backend;
use crate::store::outbox::{self, Taken};
use crate::telemetry::{OUTBOX_DEAD, OUTBOX_FAILED, OUTBOX_SENT};

/// Between two tries at a database that is away.
const PAUSE: Duration = Duration::from_millis(200);

/// The longest pause that a publisher may ask for.
const LONGEST: Duration = DAY;

/// As much of an error as is kept, in bytes.
const LONGEST_ERROR: usize = 1000;

/// What became of the message at this position.
pub(super) enum Mark {
    Sent(i64),
    /// On this attempt.
    Failed(i64, u32, PublishError),
    Untried(i64),
}

/// Those of one kind together.
#[derive(Default)]
struct Marks {
    sent: Vec<i64>,
    put_off: Vec<(i64, String, Duration)>,
    dead: Vec<(i64, String)>,
    untried: Vec<i64>,
}

/// Writes down what comes, until nothing more does. What cannot be written before the messages are
/// somebody else's is left: they are published again.
pub(super) async fn mark<C: Backend, P: Publisher>(
    relay: &OutboxRelay<C, P>,
    taken: Taken,
    until: Instant,
    mut marked: mpsc::UnboundedReceiver<Mark>,
) {
    let most = relay.settings.batch as usize;
    let mut ready = Vec::with_capacity(most);
    while marked.recv_many(&mut ready, most).await > 0 {
        let mut marks = relay.sort(ready.drain(..));
        while let Err(error) = relay.write(taken, &mut marks).await {
            tracing::warn!(error = %Chain(&error), "what became of messages could not be written down");
            if Instant::now() >= until {
                break;
            }
            sleep(PAUSE).await;
        }
    }
}

impl<C: Backend, P: Publisher> OutboxRelay<C, P> {
    fn sort(&self, ready: impl Iterator<Item = Mark>) -> Marks {
        let mut marks = Marks::default();
        for mark in ready {
            match mark {
                Mark::Sent(position) => marks.sent.push(position),
                Mark::Untried(position) => marks.untried.push(position),
                Mark::Failed(position, attempt, error) => {
                    let text = text(&error);
                    tracing::warn!(position, attempt, error = text, "a message did not arrive");
                    counter!(OUTBOX_FAILED).increment(1);
                    if error.is_permanent() || attempt >= self.settings.max_attempts {
                        marks.dead.push((position, text));
                    } else {
                        let asked = error.pause().unwrap_or_default().min(LONGEST);
                        let pause = self.settings.pause(attempt).max(asked);
                        marks.put_off.push((position, text, pause));
                    }
                }
            }
        }
        marks
    }

    /// Takes off what it has written. Those that were not tried come last: whoever takes them must find the
    /// one before them put off.
    async fn write(&self, taken: Taken, marks: &mut Marks) -> Result<(), RelayError> {
        let connection = &mut **self.lend().await?;
        if !marks.sent.is_empty() {
            let retain = self.settings.retain;
            let changed = outbox::sent(connection, &taken, &marks.sent, retain).await?;
            if changed < marks.sent.len() {
                tracing::warn!("messages took longer than `claim_for`, and are sent again");
            }
            counter!(OUTBOX_SENT).increment(changed as u64);
            marks.sent.clear();
        }
        while let Some((position, error, pause)) = marks.put_off.last() {
            outbox::put_off(connection, &taken, *position, error, *pause).await?;
            marks.put_off.pop();
        }
        while let Some((position, error)) = marks.dead.last() {
            let dead = outbox::give_up(connection, &taken, *position, error).await?;
            if dead > 0 {
                tracing::error!(position, error, "a message is given up");
                counter!(OUTBOX_DEAD).increment(1);
            }
            marks.dead.pop();
        }
        if !marks.untried.is_empty() {
            outbox::give_back(connection, &taken, &marks.untried).await?;
            marks.untried.clear();
        }
        Ok(())
    }
}

/// The error with its sources, as a text column takes it.
fn text(error: &PublishError) -> String {
    let text = match error.source() {
        Some(source) => Chain(source).to_string(),
        None => error.to_string(),
    };
    let mut text = text.replace('\0', "\u{fffd}");
    text.truncate(text.floor_char_boundary(LONGEST_ERROR));
    text
}
