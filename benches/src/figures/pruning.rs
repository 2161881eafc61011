//! Pruning at scale: how fast, by how many at once, and beside an old snapshot; what first attempts notice of it, and
//! what its index costs them.

mod beside;
mod index;
mod pruner;
mod snapshot;
mod speed;

use idem_tests::App;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;
use crate::load::Measured;
use crate::traffic::{Script, Traffic, Work};

const ROWS: u64 = 5_000_000;
const QUICK_ROWS: u64 = 200_000;

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = speed::measure(bench).await?;
    figures.extend(snapshot::measure(bench).await?);
    figures.extend(beside::measure(bench).await?);
    figures.extend(index::measure(bench).await?);
    Ok(figures)
}

fn rows(bench: &Bench) -> u64 {
    if bench.options.quick {
        QUICK_ROWS
    } else {
        ROWS
    }
}

/// First attempts, as the figures of this folder have them.
async fn first_attempts(bench: &Bench, app: &App) -> Outcome<Measured> {
    let traffic = Traffic::protected(Script::new(Work::OneInsert, 300));
    bench.load(app, 16, traffic).await
}
