//! Pruning expired records in the background.
//!
//! No SQL, no rule of how a batch goes on from the one before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metrics::{counter, histogram};
use tokio::time::sleep;

use super::{Stopping, Worker};
use crate::idempotency::{Idempotency, Settings};
use crate::reach::{Reach, Unreached};
use crate::store::{Backend, Pruner};
use crate::telemetry::{PRUNE_BATCH_SECONDS, PRUNE_FAILURES, PRUNED};

/// Records that one statement deletes: its locks are held for some milliseconds.
const BATCH: u32 = 1_000;

/// Between two batches, so that requests come first. Longer than a batch takes, so that it is the
/// smaller part of the time.
const PAUSE: Duration = Duration::from_millis(20);

/// Turns of the other workers between two of this one.
const TURNS: u32 = 6;

/// Whether somebody has started the worker in this process.
#[derive(Debug, Default)]
pub(crate) struct Maintained {
    started: AtomicBool,
    noticed: AtomicBool,
}

impl Maintained {
    /// The first request says so if nobody prunes here: by then everything has been started.
    pub(crate) fn notice(&self) {
        if !self.noticed.load(Ordering::Relaxed)
            && !self.noticed.swap(true, Ordering::Relaxed)
            && !self.started.load(Ordering::Relaxed)
        {
            tracing::warn!(
                "no maintenance worker in this process: expired records stay in the table until \
                 somebody calls `Idempotency::spawn_maintenance`, or `prune` from a job"
            );
        }
    }
}

impl<C: Backend> Idempotency<C> {
    /// Starts a worker that deletes expired records, in batches that leave room for requests. Any number
    /// of replicas may have one: they share the work, and none waits for another. Pending rows are never
    /// deleted.
    ///
    /// It takes a connection of the pool for each batch. In `metrics` it counts
    /// `idempotency_pruned_records_total` and `idempotency_prune_failures_total`, and measures
    /// `idempotency_prune_batch_seconds`.
    ///
    /// # Panics
    ///
    /// Outside of an actix runtime, such as that of `#[actix_web::main]`.
    pub fn spawn_maintenance(&self) -> Worker {
        let settings = std::sync::Arc::clone(self.settings());
        settings.maintenance.started.store(true, Ordering::Relaxed);
        let mut pruner = Pruner::new();
        Worker::start(
            "maintenance",
            settings.worker_interval * TURNS,
            async move |stopping| prune(&settings, &mut pruner, stopping).await,
        )
    }
}

async fn prune<C: Backend>(
    settings: &Settings<C>,
    pruner: &mut Pruner,
    stopping: &Stopping,
) -> Result<(), Unreached> {
    while !stopping.is_stopped() {
        let lent = Reach::new(settings, "maintenance").lend().await;
        let mut connection = lent.inspect_err(|_| counter!(PRUNE_FAILURES).increment(1))?;
        let begun = Instant::now();
        let pruned = pruner.batch(&mut **connection, BATCH).await;
        drop(connection);
        match pruned {
            Ok(pruned) => {
                histogram!(PRUNE_BATCH_SECONDS).record(begun.elapsed());
                counter!(PRUNED).increment(pruned as u64);
                if pruned < BATCH as usize {
                    return Ok(());
                }
            }
            Err(error) => {
                tracing::warn!(%error, "expired records could not be deleted");
                counter!(PRUNE_FAILURES).increment(1);
                return Err(Unreached);
            }
        }
        sleep(PAUSE).await;
    }
    Ok(())
}
