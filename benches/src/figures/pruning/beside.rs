//! First attempts while somebody prunes, over those while nobody does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_tests::Backend;
use tokio::time::sleep;

use super::first_attempts;
use super::pruner::Pruner;
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Spread, Target};
use crate::load::Measured;
use crate::records::{self, Expiry, fill};
use crate::rounds::{interleaved, ratio};

const GROUP: &str = "First attempts while pruning";

/// How a pruner goes about it: the pause between two batches.
const SIDES: [Option<Duration>; 3] = [None, Some(Duration::from_millis(100)), Some(Duration::ZERO)];
const NAMES: [&str; 3] = [
    "nobody prunes",
    "a batch of 1,000 every 100 ms / nobody prunes",
    "one batch of 1,000 after the other / nobody prunes",
];

/// Enough for all rounds.
const MOST_ROWS: u64 = 2_000_000;

struct Round {
    measured: Measured,
    pruned: u64,
    seconds: f64,
}

pub(super) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let rows = super::rows(bench).min(MOST_ROWS);
    eprintln!("idem-bench:   pruning beside first attempts");
    let database = bench.database(Backend::Postgres).await;
    let app = bench.app(&database).start().await;
    fill(&database, rows, Expiry::Past).await;
    records::settle(bench, &database).await?;
    let mut pruner = Pruner::connect(&database).await?;
    first_attempts(bench, &app).await?;
    let sides = interleaved(bench.options.rounds(), SIDES.len(), async |side| {
        let is_over = AtomicBool::new(false);
        let load = async {
            let measured = first_attempts(bench, &app).await;
            is_over.store(true, Ordering::Relaxed);
            measured
        };
        let pruning = async {
            match SIDES[side] {
                Some(pause) => prune_until(&mut pruner, pause, &is_over).await,
                None => Ok(0),
            }
        };
        let (measured, pruned) = tokio::join!(load, pruning);
        Ok(Round {
            measured: measured?,
            pruned: pruned?,
            seconds: bench.options.duration().as_secs_f64(),
        })
    })
    .await?;
    let left = "SELECT count(*) FROM idempotency_keys WHERE expires_at <= now()";
    let left = database.number(left).await;
    drop(app);
    drop(pruner);
    database.discard().await;
    let figure = |side: usize| {
        let spread = ratio(&sides[side], &sides[0], |round| round.measured.rate());
        let rates = sides[side]
            .iter()
            .map(|round| round.pruned as f64 / round.seconds);
        Figure::ratio(GROUP, NAMES[side], spread)
            .target(Some(Target::AtLeast(0.8)))
            .note(format!(
                "{:.0} rows/s pruned meanwhile; {left} expired rows were left at the end",
                Spread::of(rates.collect()).median
            ))
    };
    Ok((1..SIDES.len()).map(figure).collect())
}

/// Fails when there is nothing to prune any more: what was measured would not be what it is called.
async fn prune_until(pruner: &mut Pruner, pause: Duration, is_over: &AtomicBool) -> Outcome<u64> {
    let mut rows = 0;
    while !is_over.load(Ordering::Relaxed) {
        match pruner.batch().await? {
            0 => return Err("too few expired rows for so many rounds of so many seconds".into()),
            deleted => rows += deleted,
        }
        sleep(pause).await;
    }
    Ok(rows)
}
