//! First attempts against a table that holds many records, over those against an empty one. The tables stand side by
//! side, and their applications are measured in turn.

use idem_tests::{App, Backend, Database};

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Target};
use crate::load::Measured;
use crate::records::{self, Expiry, fill};
use crate::rounds::{interleaved, ratio};
use crate::traffic::{Script, Traffic, Work};

const SIZES: [u64; 3] = [0, 1_000_000, 5_000_000];
const QUICK_SIZES: [u64; 2] = [0, 100_000];
const CONNECTIONS: usize = 16;
const RESPONSE: usize = 300;

const BETWEEN: &str = "First attempts as the table grows, between checkpoints";
const AFTER: &str = "First attempts as the table grows, right after a checkpoint";

/// A table with records, and an application on it.
struct Side {
    rows: u64,
    database: Database,
    app: App,
}

/// One round of one side.
struct Round {
    measured: Measured,
    /// Pages that were written to the WAL whole.
    whole_pages: i64,
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let sizes: &[u64] = if bench.options.quick {
        &QUICK_SIZES
    } else {
        &SIZES
    };
    let mut sides = Vec::new();
    for rows in sizes {
        sides.push(Side::fresh(bench, *rows).await?);
    }
    for side in &sides {
        records::settle(bench, &side.database).await?;
    }
    let after = rounds(bench, &sides, true).await?;
    // By now every page has been touched since the last checkpoint: what was written whole has been.
    for side in &sides {
        side.touch_every_page().await;
    }
    let between = rounds(bench, &sides, false).await?;
    let mut figures = ratios(&sides, &between, BETWEEN, Some(Target::AtLeast(0.9)));
    figures.extend(ratios(&sides, &after, AFTER, None));
    for side in sides {
        drop(side.app);
        side.database.discard().await;
    }
    Ok(figures)
}

impl Side {
    async fn fresh(bench: &Bench, rows: u64) -> Outcome<Self> {
        eprintln!("idem-bench:   filling {rows} rows");
        let database = bench.database(Backend::Postgres).await;
        let app = bench.app(&database).start().await;
        fill(&database, rows, Expiry::Ahead).await;
        Ok(Self {
            rows,
            database,
            app,
        })
    }

    async fn load(&self, bench: &Bench) -> Outcome<Measured> {
        let traffic = Traffic::protected(Script::new(Work::OneInsert, RESPONSE));
        bench.load(&self.app, CONNECTIONS, traffic).await
    }

    /// Some more records than the index on the keys has pages.
    async fn touch_every_page(&self) {
        fill(&self.database, self.rows / 40, Expiry::Ahead).await;
    }

    async fn whole_pages(&self) -> i64 {
        self.database
            .number("SELECT wal_fpi FROM pg_stat_wal")
            .await
    }
}

/// A first round that does not count warms the applications up.
async fn rounds(bench: &Bench, sides: &[Side], checkpoints: bool) -> Outcome<Vec<Vec<Round>>> {
    for side in sides {
        side.load(bench).await?;
    }
    interleaved(bench.options.rounds(), sides.len(), async |index| {
        let side = &sides[index];
        if checkpoints {
            bench.checkpoint().await?;
        }
        let before = side.whole_pages().await;
        let measured = side.load(bench).await?;
        Ok(Round {
            measured,
            whole_pages: side.whole_pages().await - before,
        })
    })
    .await
}

fn ratios(
    sides: &[Side],
    rounds: &[Vec<Round>],
    group: &str,
    target: Option<Target>,
) -> Vec<Figure> {
    let note = |rounds: &[Round]| {
        let requests: f64 = rounds
            .iter()
            .map(|round| round.measured.latencies.count() as f64)
            .sum();
        let pages: i64 = rounds.iter().map(|round| round.whole_pages).sum();
        pages as f64 / requests
    };
    let empty = &rounds[0];
    let grown = sides.iter().zip(rounds).skip(1);
    grown
        .map(|(side, grown)| {
            let spread = ratio(grown, empty, |round| round.measured.rate());
            let name = format!("{} rows / none", millions(side.rows));
            Figure::ratio(group, name, spread)
                .target(target)
                .note(format!(
                    "pages written whole per request: {:.2}, and {:.2} without rows",
                    note(grown),
                    note(empty)
                ))
        })
        .collect()
}

fn millions(rows: u64) -> String {
    if rows.is_multiple_of(1_000_000) {
        format!("{} million", rows / 1_000_000)
    } else {
        format!("{},000", rows / 1000)
    }
}
