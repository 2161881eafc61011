//! Every metric and every span, with its meaning: the table that the README repeats.
//!
//! Names and texts only.

use metrics::{KeyName, Unit, describe_counter, describe_gauge, describe_histogram};

/// How a metric is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It is what it is now.
    Gauge,
    /// It is a distribution.
    Histogram,
}

/// One metric of this crate.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, which is stable.
    pub name: &'static str,
    /// How it is to be read.
    pub kind: MetricKind,
    /// What one of it is.
    pub unit: Unit,
    /// The labels that it has, each with a bounded set of values.
    pub labels: &'static [&'static str],
    /// What it says.
    pub description: &'static str,
}

/// One span of this crate.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SpanName {
    /// Its name, which is stable.
    pub name: &'static str,
    /// What happens within it.
    pub description: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $name:literal $kind:ident $unit:ident [$($label:literal),*] $description:literal)+) => {
        $(pub(crate) const $constant: &str = $name;)+

        /// Every metric of this crate.
        pub const METRICS: &[Metric] = &[
            $(Metric {
                name: $name,
                kind: MetricKind::$kind,
                unit: Unit::$unit,
                labels: &[$($label),*],
                description: $description,
            }),+
        ];
    };
}

metrics! {
    REQUESTS "idempotency_requests_total" Counter Count ["endpoint", "outcome"]
    "Protected requests, by how they ended"
    CLAIM_SECONDS "idempotency_claim_seconds" Histogram Seconds ["endpoint"]
    "From asking for a connection to the database's word on the key"
    LEASE_SECONDS "idempotency_lease_seconds" Histogram Seconds ["endpoint"]
    "Lease mode: committing the claim, or taking it over"
    HANDLER_SECONDS "idempotency_handler_seconds" Histogram Seconds ["endpoint"]
    "One run of the handler"
    RECORD_SECONDS "idempotency_record_seconds" Histogram Seconds ["endpoint"]
    "Writing the record, and committing"
    WAIT_SECONDS "idempotency_wait_seconds" Histogram Seconds ["endpoint"]
    "How long a duplicate waited for its first attempt (in_flight = \"wait\")"
    REPLAY_AGE_SECONDS "idempotency_replay_age_seconds" Histogram Seconds ["endpoint"]
    "How old a record was when it was replayed, by the database's clock"
    REPLAY_AGE_RATIO "idempotency_replay_age_ratio" Histogram Count ["endpoint"]
    "The same as a part of the endpoint's retain: near 1, retries come when the record is about to go"
    OPERATIONS "idempotency_operations" Gauge Count []
    "Operations that this process is working on or holds"
    OPERATIONS_LIMIT "idempotency_operations_limit" Gauge Count []
    "As many as it takes (max_operations), from the first request on"
    TAKEOVERS "idempotency_lease_takeovers_total" Counter Count ["endpoint"]
    "Lease mode: claims that a retry has taken over"
    LEASES_LOST "idempotency_leases_lost_total" Counter Count ["endpoint", "reason"]
    "Lease mode: claims that were lost while their handler ran; reason: taken, unrenewed"
    HEARTBEATS "idempotency_heartbeats_total" Counter Count ["result"]
    "Lease mode: renewals; result: renewed, busy, failed, taken, given_up"
    RECONCILED "idempotency_reconciled_total" Counter Count ["result"]
    "Operations offered to the reconciler; result: completed, released, unknown, late, failed"
    RESUMED "idempotency_resumed_total" Counter Count ["result"]
    "Stranded operations that the completion worker has run; result: done, failed"
    WORKER_TURNS "idempotency_worker_turns_total" Counter Count ["worker", "result"]
    "Turns of the background workers (maintenance, reconciler, completion); result: done, failed"
    PRUNED "idempotency_pruned_records_total" Counter Count []
    "Expired records that were deleted"
    PRUNE_FAILURES "idempotency_prune_failures_total" Counter Count []
    "Batches of them that could not be deleted"
    PRUNE_BATCH_SECONDS "idempotency_prune_batch_seconds" Histogram Seconds []
    "Deleting one batch of them"
    UNREADABLE "idempotency_unreadable_records_total" Counter Count ["endpoint", "reason"]
    "Stored responses, requests and results that could not be read; reason: seal, key, damaged, version, failed"
    OUTBOX_BACKLOG "idempotency_outbox_backlog" Gauge Count []
    "Messages that are left to send"
    OUTBOX_OLDEST_SECONDS "idempotency_outbox_oldest_seconds" Gauge Seconds []
    "How old the oldest of them is"
    OUTBOX_SENT "idempotency_outbox_sent_total" Counter Count []
    "Messages that were sent"
    OUTBOX_FAILED "idempotency_outbox_failed_total" Counter Count []
    "Attempts to send one that failed"
    OUTBOX_DEAD "idempotency_outbox_dead_total" Counter Count []
    "Messages that were given up"
}

macro_rules! spans {
    ($($constant:ident $name:literal $description:literal)+) => {
        $(pub(super) const $constant: &str = $name;)+

        /// Every span of this crate.
        pub const SPANS: &[SpanName] = &[
            $(SpanName { name: $name, description: $description }),+
        ];
    };
}

spans! {
    OPERATION_SPAN "idempotency.operation"
    "One protected request, from its headers to its outcome (level INFO)"
    CLAIM_SPAN "idempotency.claim"
    "Asking the database about the key (DEBUG, as all that follow)"
    LEASE_SPAN "idempotency.lease"
    "Lease mode: committing the claim, or taking it over"
    HANDLER_SPAN "idempotency.handler"
    "One run of the handler"
    RECORD_SPAN "idempotency.record"
    "Writing the record, and committing"
    WORKER_TURN_SPAN "idempotency.worker.turn"
    "One turn of a background worker (maintenance, reconciler, completion)"
    OUTBOX_TURN_SPAN "idempotency.outbox.turn"
    "One turn of a relay: taking messages, publishing them, and writing down what became of them"
    OUTBOX_PUBLISH_SPAN "idempotency.outbox.publish"
    "One attempt to publish one message"
}

/// Tells the recorder what each metric means. Call it once, behind the recorder's installation.
///
/// ```
/// idem_runtime::telemetry::describe();
/// ```
pub fn describe() {
    for metric in METRICS {
        let name = KeyName::from_const_str(metric.name);
        let description = metric.description;
        match metric.kind {
            MetricKind::Counter => describe_counter!(name, metric.unit, description),
            MetricKind::Gauge => describe_gauge!(name, metric.unit, description),
            MetricKind::Histogram => describe_histogram!(name, metric.unit, description),
        }
    }
}
