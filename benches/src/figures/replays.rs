//! Replays only, and a mix of nine retries to one first attempt, against the bare handler, which does the work each
//! time.

use idem_tests::{App, Backend};

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Target};
use crate::load::{Load, Measured, Until};
use crate::rounds::ratio;
use crate::traffic::{Keys, Script, Traffic, Work, fresh_keys};

const CONNECTIONS: usize = 16;
const RECORDS: u64 = 1000;
const RETRIES: u64 = 9;
const RESPONSES: [(usize, &str); 2] = [(300, "300 B"), (64 << 10, "64 KiB")];

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    for backend in [Backend::Postgres, Backend::Sqlite] {
        for (response, size) in RESPONSES {
            let is_main = response == RESPONSES[0].0;
            if is_main || !(bench.options.quick || backend == Backend::Sqlite) {
                figures.extend(measure_one(bench, backend, response, size).await?);
            }
        }
    }
    Ok(figures)
}

async fn measure_one(
    bench: &Bench,
    backend: Backend,
    response: usize,
    size: &str,
) -> Outcome<Vec<Figure>> {
    let group = format!("Replays on {}", backend_name(backend));
    let database = bench.database(backend).await;
    let app = bench.app(&database).start().await;
    let script = Script::new(Work::OneInsert, response);
    let all = record(&app, script).await?;
    let traffic = |keys| Traffic::protected(script).keys(keys);
    let sides = [
        Traffic::bare(script),
        traffic(Keys::Recorded(all.clone())),
        traffic(Keys::Recorded(all.start..all.start + 1)),
        traffic(Keys::Retried(RETRIES)),
    ];
    let sides = bench.compare(&app, CONNECTIONS, &sides).await?;
    drop(app);
    database.discard().await;

    let is_aimed_at = backend == Backend::Postgres && response == RESPONSES[0].0;
    let target = is_aimed_at.then_some(Target::AtLeast(1.5));
    let names = [
        (1, "replays / bare", target),
        (2, "replays of one record at once / bare", None),
        (3, "nine retries to one first attempt / bare", None),
    ];
    let figures = names.map(|(side, name, target)| {
        let spread = ratio(&sides[side], &sides[0], Measured::rate);
        let name = format!("{name}, {size}, {CONNECTIONS} connections");
        Figure::ratio(&group, name, spread).target(target)
    });
    Ok(figures.into())
}

/// First attempts, all of which are recorded.
async fn record(app: &App, script: Script) -> Outcome<std::ops::Range<u64>> {
    let keys = fresh_keys(RECORDS);
    let load = Load {
        address: app.address(),
        connections: 1,
        traffic: Traffic::protected(script).keys(Keys::New(keys.clone())),
        until: Until::Answers(RECORDS),
    };
    load.run().await?;
    Ok(keys)
}

pub(super) fn backend_name(backend: Backend) -> &'static str {
    match backend {
        Backend::Mysql => "MariaDB",
        Backend::Postgres => "PostgreSQL",
        Backend::Sqlite => "SQLite",
    }
}
