//! What a relay does besides: deleting what was sent long ago, and measuring what is left to send.
//!
//! No SQL.

use std::time::Duration;

use metrics::gauge;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{OutboxRelay, RelayError};
use crate::operation::Chain;
use crate::outbox::Publisher;
use crate::store::Backend;
use crate::store::outbox;
use crate::telemetry::{OUTBOX_BACKLOG, OUTBOX_OLDEST_SECONDS};
use crate::workers::spread;

const INTERVAL: Duration = Duration::from_secs(15);

/// Messages that one statement deletes.
const BATCH: u32 = 1_000;

/// Between two batches, so that others come first.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends when it is told to, and nothing of it is under way.
pub(super) async fn keep<C: Backend, P: Publisher>(
    relay: &OutboxRelay<C, P>,
    mut stopped: watch::Receiver<bool>,
) {
    let interval = INTERVAL.min(relay.settings.poll);
    let mut measured: Option<Instant> = None;
    while !*stopped.borrow() {
        if let Err(error) = relay.prune(&stopped).await {
            tracing::warn!(error = %Chain(&error), "sent messages could not be deleted");
        }
        // It counts all that is left to send.
        if measured.is_none_or(|measured| measured.elapsed() >= INTERVAL) {
            measured = Some(Instant::now());
            if let Err(error) = relay.measure().await {
                tracing::warn!(error = %Chain(&error), "the outbox could not be measured");
            }
        }
        tokio::select! {
            () = sleep(spread(interval)) => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    }
}

impl<C: Backend, P: Publisher> OutboxRelay<C, P> {
    async fn prune(&self, stopped: &watch::Receiver<bool>) -> Result<(), RelayError> {
        while !*stopped.borrow() {
            let pruned = outbox::prune(&mut **self.lend().await?, BATCH).await?;
            if pruned < BATCH as usize {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    #[allow(clippy::cast_precision_loss)]
    async fn measure(&self) -> Result<(), RelayError> {
        let (count, oldest) = outbox::backlog(&mut **self.lend().await?).await?;
        gauge!(OUTBOX_BACKLOG).set(count as f64);
        let oldest = oldest.unwrap_or_default().max(0) as f64 / 1000.0;
        gauge!(OUTBOX_OLDEST_SECONDS).set(oldest);
        Ok(())
    }
}
