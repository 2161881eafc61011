//! Pruning while somebody has an old snapshot open, as a backup has, so that nothing of what was deleted can be cleared
//! away: whether it becomes slower as it goes on.

use idem_tests::Backend;
use tokio_postgres::NoTls;

use super::pruner::{Pruner, prune};
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Spread, Target};
use crate::records::{self, Expiry, fill};

const GROUP: &str = "Pruning while an old snapshot is open";
const MOST_ROWS: u64 = 300_000;
const PARTS: u64 = 10;
const TABLES: usize = 3;

pub(super) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let rows = super::rows(bench).min(MOST_ROWS);
    eprintln!("idem-bench:   pruning {rows} rows while an old snapshot is open");
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for _ in 0..TABLES {
        let rates = empty(bench, rows).await?;
        first.extend(rates.first());
        last.extend(rates.last());
    }
    let ratios = last.iter().zip(&first).map(|(last, first)| last / first);
    let note = format!(
        "{:.0} rows/s at the beginning, {:.0} at the end, of {rows} rows",
        Spread::of(first.clone()).median,
        Spread::of(last.clone()).median
    );
    let name = "the last tenth of the rows / the first";
    let figure = Figure::ratio(GROUP, name, Spread::of(ratios.collect()));
    Ok(vec![figure.target(Some(Target::AtLeast(0.8))).note(note)])
}

/// Rows in a second, for each part of one table in turn.
async fn empty(bench: &Bench, rows: u64) -> Outcome<Vec<f64>> {
    let database = bench.database(Backend::Postgres).await;
    drop(bench.app(&database).start().await);
    fill(&database, rows, Expiry::Past).await;
    records::settle(bench, &database).await?;
    let (reader, connection) = tokio_postgres::connect(database.url(), NoTls).await?;
    tokio::spawn(connection);
    let open = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM idempotency_keys LIMIT 1";
    reader.batch_execute(open).await?;

    let mut pruners = [Pruner::connect(&database).await?];
    let mut rates = Vec::new();
    for _ in 0..PARTS {
        rates.push(prune(&mut pruners, rows / PARTS).await?.rate());
    }
    drop((reader, pruners));
    database.discard().await;
    Ok(rates)
}
