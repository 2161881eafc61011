//! What an operator sees: the names of all metrics and spans, and the one place that counts how a request ended.
//!
//! Metrics go to the recorder that the application has installed (crate `metrics`), spans to its subscriber (crate
//! `tracing`). All names are stable: they change only with a major version. No label and no attribute holds a key, a
//! scope's value or a path with ids in it.
//!
//! No SQL, no decisions about outcomes.

mod background;
mod digests;
#[cfg(test)]
mod documented;
mod meters;
mod names;
mod outcome;
mod phase;
mod tally;
mod unreadable;

pub(crate) use background::{ended, publishing, relay_turn, took, worker_turn};
pub(crate) use digests::KeyDigests;
pub(crate) use meters::count;
pub(crate) use names::{
    HEARTBEATS, OPERATIONS, OPERATIONS_LIMIT, OUTBOX_BACKLOG, OUTBOX_DEAD, OUTBOX_FAILED,
    OUTBOX_OLDEST_SECONDS, OUTBOX_SENT, PRUNE_BATCH_SECONDS, PRUNE_FAILURES, PRUNED, RECONCILED,
    RESUMED, WORKER_TURNS,
};
pub use names::{METRICS, Metric, MetricKind, SPANS, SpanName, describe};
pub(crate) use outcome::Outcome;
pub(crate) use phase::Phase;
pub(crate) use tally::Tally;
pub(crate) use unreadable::unreadable;
