//! The outbox: how fast a relay drains it, against the same client without one; and what it costs a handler to queue.

mod brokers;
mod drain;
mod enqueue;
mod queued;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;

pub(super) use enqueue::messages;

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = drain::measure(bench).await?;
    figures.extend(enqueue::measure(bench).await?);
    Ok(figures)
}
