//! Processor time per request, of the application and of its server processes: where throughput goes when the cores are
//! busy. Waiting for the disk or for a turn does not count, so that this is steadier than throughput.

use std::fs;

use idem_tests::{App, Backend, Database};

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;
use crate::rounds::{interleaved, ratio};
use crate::traffic::{Script, Traffic, Work};

const GROUP: &str = "Processor time per request, 300 B, 16 connections";
const CONNECTIONS: usize = 16;
const RESPONSE: usize = 300;
const SIDES: [Side; 3] = [
    ("bare", Traffic::bare),
    ("floor", Traffic::floor),
    ("protected", Traffic::protected),
];

/// What it is called, and how a request of it is made.
type Side = (&'static str, fn(Script) -> Traffic);

/// Whose processor time.
type Part = (&'static str, fn(&Spent) -> f64);

/// Nanoseconds per request.
#[derive(Clone, Copy)]
struct Spent {
    application: f64,
    server: f64,
}

/// Nanoseconds since the processes started.
#[derive(Clone, Copy)]
struct Clock {
    application: u64,
    server: u64,
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    for work in Work::ALL {
        let database = bench.database(Backend::Postgres).await;
        let app = bench.app(&database).start().await;
        let script = Script::new(work, RESPONSE);
        bench.checkpoint().await?;
        for (_, side) in SIDES {
            spend(bench, &app, &database, side(script)).await?;
        }
        let spent = interleaved(bench.options.rounds(), SIDES.len(), async |side: usize| {
            spend(bench, &app, &database, SIDES[side].1(script)).await
        })
        .await?;
        drop(app);
        database.discard().await;
        figures.extend(compare(work, &spent));
    }
    Ok(figures)
}

fn compare(work: Work, spent: &[Vec<Spent>]) -> Vec<Figure> {
    let parts: [Part; 3] = [
        ("application", |spent| spent.application),
        ("server", |spent| spent.server),
        ("both", |spent| spent.application + spent.server),
    ];
    let pairs = [(2, 0), (1, 0), (2, 1)];
    let figure = |(over, under): (usize, usize), (part, of): Part| {
        let (over_name, under_name) = (SIDES[over].0, SIDES[under].0);
        let name = format!("{over_name} / {under_name}, {}, {part}", work.name());
        Figure::ratio(GROUP, name, ratio(&spent[over], &spent[under], of))
    };
    let all = pairs
        .into_iter()
        .flat_map(|pair| parts.map(|part| figure(pair, part)));
    all.collect()
}

async fn spend(bench: &Bench, app: &App, database: &Database, traffic: Traffic) -> Outcome<Spent> {
    let before = clock(app, database).await?;
    let measured = bench.load(app, CONNECTIONS, traffic).await?;
    let requests = measured.latencies.count() as f64;
    let after = clock(app, database).await?;
    let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / requests;
    Ok(Spent {
        application: each(before.application, after.application),
        server: each(before.server, after.server),
    })
}

async fn clock(app: &App, database: &Database) -> Outcome<Clock> {
    let processes = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let processes = database.text(processes).await.unwrap_or_default();
    let mut server = 0;
    for process in processes.split_whitespace() {
        server += of_process(process)?;
    }
    Ok(Clock {
        application: of_process(&app.process().to_string())?,
        server,
    })
}

/// Linux counts it for each thread.
fn of_process(process: &str) -> Outcome<u64> {
    let mut total = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let spent = fs::read_to_string(thread?.path().join("schedstat"))?;
        let nanoseconds = spent
            .split_whitespace()
            .next()
            .ok_or("an empty schedstat")?;
        total += nanoseconds.parse::<u64>()?;
    }
    Ok(total)
}
