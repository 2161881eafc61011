//! What the index on `expires_at` costs first attempts, and what pruning would be without it.

use idem_tests::{App, Backend, Database};

use super::first_attempts;
use super::pruner::{BATCH, Pruner, prune};
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Spread};
use crate::records::{self, Expiry, fill};
use crate::rounds::{interleaved, ratio};

const GROUP: &str = "The index on expires_at";
const EXPIRED: u64 = 200_000;
const BATCHES: u64 = 20;

pub(super) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    eprintln!("idem-bench:   the index on expires_at");
    let with = side(bench).await;
    let without = side(bench).await;
    without
        .0
        .execute("DROP INDEX idempotency_keys_expires_at")
        .await;
    let sides = [&with, &without];
    for (_, app) in sides {
        first_attempts(bench, app).await?;
    }
    let rates = interleaved(bench.options.rounds(), sides.len(), async |side| {
        Ok(first_attempts(bench, &sides[side].1).await?.rate())
    })
    .await?;
    let spread = ratio(&rates[0], &rates[1], |rate| *rate);
    let mut figures = vec![Figure::ratio(
        GROUP,
        "first attempts with it / without",
        spread,
    )];
    for (database, _) in sides {
        database.execute("TRUNCATE idempotency_keys").await;
        fill(database, EXPIRED, Expiry::Past).await;
        records::settle(bench, database).await?;
    }
    let mut pruners = [
        [Pruner::connect(&with.0).await?],
        [Pruner::connect(&without.0).await?],
    ];
    let rates = interleaved(3, sides.len(), async |side| {
        Ok(prune(&mut pruners[side], BATCHES * u64::from(BATCH))
            .await?
            .rate())
    })
    .await?;
    for (name, rates) in ["pruning with it", "pruning without"].iter().zip(rates) {
        let rate = Spread::of(rates).median.round();
        figures.push(
            Figure::count(GROUP, *name, rate, "rows/s").note(format!("of {EXPIRED} expired rows")),
        );
    }
    drop(pruners);
    for (database, app) in [with, without] {
        drop(app);
        database.discard().await;
    }
    Ok(figures)
}

async fn side(bench: &Bench) -> (Database, App) {
    let database = bench.database(Backend::Postgres).await;
    let app = bench.app(&database).start().await;
    (database, app)
}
