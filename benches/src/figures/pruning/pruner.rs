//! Who prunes: a connection of its own, as a cron job has it, and batches of 1,000.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel_async::{AsyncConnection, AsyncPgConnection};
use futures_util::future::try_join_all;
use idem_tests::Database;

use crate::Outcome;

pub(super) const BATCH: u32 = 1_000;

pub(super) struct Pruner {
    connection: AsyncPgConnection,
    pruner: idem_runtime::Pruner,
}

/// What several pruners have done together.
pub(super) struct Pruned {
    pub(super) rows: u64,
    pub(super) elapsed: Duration,
}

impl Pruner {
    pub(super) async fn connect(database: &Database) -> Outcome<Self> {
        Ok(Self {
            connection: AsyncPgConnection::establish(database.url()).await?,
            pruner: idem_runtime::Pruner::new(),
        })
    }

    /// The rows that one batch deleted.
    pub(super) async fn batch(&mut self) -> Outcome<u64> {
        Ok(self.pruner.batch(&mut self.connection, BATCH).await? as u64)
    }
}

/// All at once, until they have deleted so many rows together, or there are no more.
pub(super) async fn prune(pruners: &mut [Pruner], quota: u64) -> Outcome<Pruned> {
    let deleted = AtomicU64::new(0);
    let start = Instant::now();
    let all = pruners.iter_mut().map(async |pruner| {
        while deleted.load(Ordering::Relaxed) < quota {
            match pruner.batch().await? {
                0 => break,
                rows => deleted.fetch_add(rows, Ordering::Relaxed),
            };
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    try_join_all(all).await?;
    Ok(Pruned {
        rows: deleted.into_inner(),
        elapsed: start.elapsed(),
    })
}

impl Pruned {
    /// Rows in a second.
    pub(super) fn rate(&self) -> f64 {
        self.rows as f64 / self.elapsed.as_secs_f64()
    }
}
