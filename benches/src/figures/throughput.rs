//! First attempts against the bare handler, the hand-written one and the floor: throughput, and the median latency of
//! the same rounds.

use idem_tests::Backend;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Target};
use crate::load::Measured;
use crate::rounds::ratio;
use crate::traffic::{Script, Traffic, Work, connections_text};

const CONNECTIONS: [usize; 3] = [1, 16, 64];
const RESPONSES: [(usize, &str); 3] = [(300, "300 B"), (4 << 10, "4 KiB"), (64 << 10, "64 KiB")];

/// At so many connections the targets are set.
const AIMED_AT: usize = 16;

struct Cell {
    work: Work,
    response: usize,
    size: &'static str,
    connections: usize,
}

/// The other sides come after `protected`, which is what every ratio has above the line.
const SIDES: [fn(Script) -> Traffic; 4] = [
    Traffic::protected,
    Traffic::bare,
    Traffic::by_hand,
    Traffic::floor,
];
const OTHERS: [(usize, &str); 3] = [(1, "bare"), (2, "by hand"), (3, "floor")];

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    let wanted = bench.options.cell.as_deref().unwrap_or_default();
    for cell in cells(bench.options.quick) {
        let name = format!("{}, {}", cell.work.name(), cell.name());
        if !name.contains(wanted) {
            continue;
        }
        eprintln!("idem-bench:   {name}");
        figures.extend(measure_cell(bench, &cell).await?);
    }
    Ok(figures)
}

fn cells(is_quick: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    for work in Work::ALL {
        for (response, size) in RESPONSES {
            for connections in CONNECTIONS {
                cells.push(Cell {
                    work,
                    response,
                    size,
                    connections,
                });
            }
        }
    }
    if is_quick {
        cells.retain(|cell| cell.connections == AIMED_AT && cell.response == RESPONSES[0].0);
    }
    cells
}

async fn measure_cell(bench: &Bench, cell: &Cell) -> Outcome<Vec<Figure>> {
    let database = bench.database(Backend::Postgres).await;
    let app = bench.app(&database).start().await;
    let script = Script::new(cell.work, cell.response);
    let sides = SIDES.map(|side| side(script));
    let sides = bench.compare(&app, cell.connections, &sides).await?;
    drop(app);
    database.discard().await;
    Ok(cell.figures(&sides))
}

impl Cell {
    fn name(&self) -> String {
        format!("{}, {}", self.size, connections_text(self.connections))
    }

    fn figures(&self, sides: &[Vec<Measured>]) -> Vec<Figure> {
        let throughput = format!("Throughput, {}", self.work.name());
        let latency = format!("Median latency, {}", self.work.name());
        let mut figures = Vec::new();
        for (side, other) in OTHERS {
            let name = format!("protected / {other}, {}", self.name());
            let spread = ratio(&sides[0], &sides[side], Measured::rate);
            let figure = Figure::ratio(&throughput, name.clone(), spread);
            figures.push(match self.target(other) {
                Some((target, Some(step))) => figure.target(Some(target)).note(step),
                Some((target, None)) => figure.target(Some(target)),
                None => figure,
            });
            let spread = ratio(&sides[0], &sides[side], Measured::p50);
            figures.push(Figure::ratio(&latency, name, spread));
        }
        figures
    }

    /// What is aimed at, and the step on the way to it.
    fn target(&self, other: &str) -> Option<(Target, Option<&'static str>)> {
        if self.connections != AIMED_AT || self.response != RESPONSES[0].0 {
            return None;
        }
        match (self.work, other) {
            (Work::OneInsert, "bare") => Some((Target::AtLeast(0.80), Some("first step: ≥ 0.75"))),
            (Work::OneInsert, "floor") => Some((Target::AtLeast(0.92), None)),
            (Work::OneInsert, "by hand") => Some((Target::AtLeast(1.3), None)),
            (Work::FourStatements, "bare") => {
                Some((Target::AtLeast(0.93), Some("first step: ≥ 0.90")))
            }
            _ => None,
        }
    }
}
