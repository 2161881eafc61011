//! A network between application and database: what a first attempt waits for beyond a bare one, where every round trip
//! costs.

use std::time::Duration;

use idem_tests::{Backend, server_of, with_address};

use crate::Outcome;
use crate::bench::Bench;
use crate::delayed::Delayed;
use crate::figure::{Figure, Target};
use crate::load::Measured;
use crate::rounds::ratio;
use crate::traffic::{Script, Traffic, Work};

const GROUP: &str = "Median latency with a network to the database";
const ONE_WAY: Duration = Duration::from_micros(500);
const RESPONSE: usize = 300;
const MOST: f64 = 1.10;

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let database = bench.database(Backend::Postgres).await;
    let delayed = Delayed::to(server_of(database.url()), ONE_WAY)?;
    let url = with_address(database.url(), delayed.address());
    let app = bench.app(&database).database_url(&url).start().await;
    let mut figures = Vec::new();
    for work in Work::ALL {
        let script = Script::new(work, RESPONSE);
        let sides = [
            Traffic::protected(script),
            Traffic::bare(script),
            Traffic::by_hand(script),
        ];
        let sides = bench.compare(&app, 1, &sides).await?;
        for (side, other) in [(0, "protected"), (2, "by hand")] {
            let spread = ratio(&sides[side], &sides[1], Measured::p50);
            let name = format!("{other} / bare, {}, 300 B, 1 connection", work.name());
            let target = (other == "protected").then_some(Target::AtMost(MOST));
            figures.push(
                Figure::ratio(GROUP, name, spread)
                    .target(target)
                    .note("1 ms added to a round trip, half of it each way"),
            );
        }
    }
    drop(app);
    database.discard().await;
    Ok(figures)
}
