//! How fast 1, 2 and 4 pruners empty one table, taking turns; that each row goes once; and what is left of the table.

use idem_tests::Backend;

use super::pruner::{BATCH, Pruned, Pruner, prune};
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Spread};
use crate::records::{self, Expiry, fill, sizes};
use crate::rounds::interleaved;

const GROUP: &str = "Pruning";
const PRUNERS: [usize; 3] = [1, 2, 4];

pub(super) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let rows = super::rows(bench);
    eprintln!("idem-bench:   pruning {rows} rows");
    let database = bench.database(Backend::Postgres).await;
    drop(bench.app(&database).start().await);
    fill(&database, rows, Expiry::Past).await;
    records::settle(bench, &database).await?;

    let mut pruners = Vec::new();
    for _ in 0..PRUNERS[PRUNERS.len() - 1] {
        pruners.push(Pruner::connect(&database).await?);
    }
    let rounds = bench.options.rounds();
    // Each begins with a batch that is not timed, and may be through with one when the others have the last rows of the
    // quota.
    let overshoot = PRUNERS.iter().max().map_or(0, |most| *most as u64) * u64::from(BATCH) * 2;
    let quota = (rows / (rounds * PRUNERS.len()) as u64).saturating_sub(overshoot);
    let mut untimed = 0;
    let sides = interleaved(rounds, PRUNERS.len(), async |side| {
        let pruners = &mut pruners[..PRUNERS[side]];
        // Who did not work in the round before walks once over what the others have deleted.
        for pruner in &mut *pruners {
            untimed += pruner.batch().await?;
        }
        prune(pruners, quota).await
    })
    .await?;
    let rest = prune(&mut pruners, u64::MAX).await?;
    let timed: u64 = sides.iter().flatten().map(|pruned| pruned.rows).sum();
    let deleted = untimed + timed;
    let left = database.records().await;

    let mut figures: Vec<Figure> = PRUNERS.iter().zip(&sides).map(figure).collect();
    figures.push(
        Figure::count(
            GROUP,
            "rows deleted / rows that there were",
            (deleted + rest.rows) as f64 / rows as f64,
            "",
        )
        .note(format!(
            "by the sum of what the pruners were told; {left} rows are left"
        )),
    );
    for moment in ["after the last batch", "after VACUUM"] {
        if moment == "after VACUUM" {
            records::settle(bench, &database).await?;
        }
        let (table, indexes) = sizes(&database).await;
        figures.push(size(format!("table {moment}"), table));
        figures.push(size(format!("indexes {moment}"), indexes));
    }
    drop(pruners);
    database.discard().await;
    Ok(figures)
}

fn figure((pruners, rounds): (&usize, &Vec<Pruned>)) -> Figure {
    let rates: Vec<f64> = rounds.iter().map(Pruned::rate).collect();
    let (first, last) = (rates.first().copied(), rates.last().copied());
    let name = match pruners {
        1 => "1 pruner".to_owned(),
        many => format!("{many} pruners"),
    };
    Figure::count(GROUP, name, Spread::of(rates).median.round(), "rows/s").note(format!(
        "{:.0} when the table was full, {:.0} when it was nearly empty",
        first.unwrap_or(f64::NAN),
        last.unwrap_or(f64::NAN)
    ))
}

fn size(name: String, bytes: i64) -> Figure {
    Figure::count(GROUP, name, (bytes as f64 / 1e6).round(), "MB")
}
