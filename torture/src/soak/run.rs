//! A soak from its beginning to its end: start, let clients live and look at everything every few seconds, let them
//! go, look once more, judge.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem_tests::{App, Launch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::client::{Client, Field};
use super::figure::{Figure, Kind};
use super::report::{Report, Samples};
use super::{Options, database, operator, process};
use crate::Outcome;
use crate::backends::{self, Backend};

const APPS: usize = 2;
const POOL: u32 = 6;
const WORKERS: u32 = 2;
const EVERY: Duration = Duration::from_secs(3);
/// Between two looks of the operator.
const ROUND: Duration = Duration::from_secs(5);
/// Until everything has been settled, has expired and has been pruned, once nobody asks for anything.
const CALM: Duration = Duration::from_secs(60);
/// What must be nothing then.
const GONE: [&str; 4] = [
    "rows",
    "advisory locks",
    "connections idle in transaction",
    "transactions of 10 s",
];

/// Every backend that was asked for; how many series are not flat.
pub(crate) async fn all(options: &Options) -> Outcome<usize> {
    let output = options.output()?;
    if let Some(directory) = output.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut samples = Samples::begin(&output)?;
    println!("samples are in {}", output.display());
    let mut failures = 0;
    for name in backends::chosen(options.backend) {
        failures += one(options, name, &mut samples).await?;
    }
    Ok(failures)
}

async fn one(options: &Options, name: &'static str, samples: &mut Samples) -> Outcome<usize> {
    let directory = tempfile::tempdir()?;
    let backend: Arc<dyn Backend> = backends::fresh(name, directory.path()).await?.into();
    let apps = start(options, &*backend).await?;
    let field = Arc::new(Field {
        apps: apps.iter().map(App::address).collect(),
        operations: AtomicU64::default(),
        answers: Default::default(),
    });

    let begun = Instant::now();
    let end = begun + options.duration();
    let mut clients = JoinSet::new();
    for number in 0..options.clients {
        clients.spawn(Client::new(Arc::clone(&field), number).live(end));
    }
    let settling = tokio::spawn(settle(Arc::clone(&backend)));
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = Counts::of(&field);
    samples.turn_to(name);
    while Instant::now() < end {
        ticks.tick().await;
        let mut figures = look(&apps, &*backend).await?;
        let now = Counts::of(&field);
        figures.extend(now.since(&before));
        before = now;
        samples.add(begun.elapsed(), &figures)?;
    }
    clients.join_all().await;

    let left = calm(&apps, &*backend).await?;
    settling.abort();
    let report = Report {
        backend: name,
        samples,
        apps: APPS,
        length: options.duration(),
        operations: field.operations.load(Ordering::Relaxed),
        answers: field
            .answers
            .lock()
            .map(|answers| answers.clone())
            .unwrap_or_default(),
        left: &left,
        must_be_gone: &GONE,
    };
    let failures = report.failures();
    println!("{}", report.text());
    for app in apps {
        app.kill().await;
    }
    backend.discard().await?;
    Ok(failures)
}

/// What clients have had by a moment.
struct Counts {
    moment: Instant,
    operations: u64,
    answers: u64,
    refused: u64,
}

impl Counts {
    fn of(field: &Field) -> Self {
        let (answers, refused) = field.refused();
        Self {
            moment: Instant::now(),
            operations: field.operations.load(Ordering::Relaxed),
            answers,
            refused,
        }
    }

    fn since(&self, earlier: &Self) -> Vec<Figure> {
        let seconds = (self.moment - earlier.moment).as_secs_f64();
        let pace = (self.operations - earlier.operations) as f64 / seconds.max(1.0);
        let answers = (self.answers - earlier.answers).max(1) as f64;
        let refused = (self.refused - earlier.refused) as f64 * 100.0 / answers;
        vec![
            Figure::new("operations per second", Kind::Pace, pace),
            Figure::new("503 among 100 answers", Kind::Refused, refused),
        ]
    }
}

async fn start(options: &Options, backend: &dyn Backend) -> Outcome<Vec<App>> {
    let mut launch = Launch::of(&options.app()?, &backend.url_through(None))
        .pool(POOL)
        .workers(WORKERS)
        .environment("RUST_LOG", "error")
        .environment("RUST_BACKTRACE", "0")
        // With arenas and caches for each of many threads, as SQLite's have, what is free but scattered grows for an
        // hour, and a leak of some hundred bytes is lost in it.
        .environment("MALLOC_ARENA_MAX", "1")
        .environment("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
    // So few operations at once that one that never ends is missed soon.
    let at_once = format!("--max-operations={}", options.clients * 4);
    for argument in [
        "--maintenance",
        "--completion",
        "--reconcile",
        "--worker-interval-ms=300",
        &at_once,
    ] {
        launch = launch.argument(argument);
    }
    let mut apps = Vec::new();
    for _ in 0..APPS {
        apps.push(launch.try_start().await?);
    }
    Ok(apps)
}

async fn settle(backend: Arc<dyn Backend>) {
    loop {
        sleep(ROUND).await;
        if let Err(error) = operator::round(&*backend).await {
            eprintln!("idem-soak: the operator could not do its round: {error}");
        }
    }
}

async fn look(apps: &[App], backend: &dyn Backend) -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    for (number, app) in apps.iter().enumerate() {
        figures.extend(process::figures(number, app.process())?);
    }
    figures.extend(database::figures(backend).await?);
    Ok(figures)
}

/// What is there when all has gone that goes, or patience has.
async fn calm(apps: &[App], backend: &dyn Backend) -> Outcome<Vec<Figure>> {
    let start = Instant::now();
    loop {
        sleep(EVERY).await;
        let figures = look(apps, backend).await?;
        let is_gone = |figure: &Figure| figure.value == 0.0 || !GONE.contains(&&*figure.name);
        if figures.iter().all(is_gone) || start.elapsed() > CALM {
            return Ok(figures);
        }
    }
}
