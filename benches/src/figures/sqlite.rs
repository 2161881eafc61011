//! First attempts against the bare handler on SQLite, where all writers take turns.

use idem_tests::Backend;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;
use crate::load::Measured;
use crate::rounds::ratio;
use crate::traffic::{Script, Traffic, Work, connections_text};

const GROUP: &str = "Throughput on SQLite";
const CONNECTIONS: [usize; 2] = [1, 16];
const RESPONSE: usize = 300;

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    for connections in CONNECTIONS {
        let database = bench.database(Backend::Sqlite).await;
        let app = bench.app(&database).start().await;
        let script = Script::new(Work::OneInsert, RESPONSE);
        let sides = [Traffic::protected(script), Traffic::bare(script)];
        let sides = bench.compare(&app, connections, &sides).await?;
        drop(app);
        database.discard().await;
        let spread = ratio(&sides[0], &sides[1], Measured::rate);
        let connections = connections_text(connections);
        let name = format!("protected / bare, one insert, 300 B, {connections}");
        figures.push(Figure::ratio(GROUP, name, spread));
    }
    Ok(figures)
}
