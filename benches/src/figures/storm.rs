//! A storm: very many duplicates of one running key at once. What they take, and what somebody else notices.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use idem_tests::{App, Backend, Connection, Database, Proxy, Request};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Spread, Target};
use crate::load::Latencies;
use crate::rounds::{interleaved, ratio};
use crate::traffic::{fresh_keys, key_text};

const GROUP: &str = "Storm of 1,000 duplicates";
const DUPLICATES: usize = 1000;
const POOL: u32 = 4;
const HANDLER: Duration = Duration::from_secs(2);

/// What somebody else's requests waited for, in seconds.
struct Waited {
    /// The one that was sent together with all duplicates.
    first: f64,
    /// The median of those behind it, while the storm's handler ran.
    then: f64,
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let database = bench.database(Backend::Postgres).await;
    let mut figures = what_it_takes(bench, &database).await?;
    figures.extend(what_others_notice(bench, &database).await?);
    database.discard().await;
    Ok(figures)
}

async fn what_it_takes(bench: &Bench, database: &Database) -> Outcome<Vec<Figure>> {
    let proxy = Proxy::to(database).await;
    let app = bench
        .app(database)
        .pool(POOL)
        .database_url(proxy.url())
        .start()
        .await;
    warm_up(&app).await?;
    proxy.clear();
    let storm = Storm::gather(&app).await?;
    storm.start().await;
    let statuses = storm.statuses().await?;
    let taken: HashSet<usize> = proxy.sent().iter().map(|sent| sent.connection).collect();

    let of = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count() as f64;
    let refused = (DUPLICATES - 1) as f64;
    Ok(vec![
        Figure::count(GROUP, "database connections taken", taken.len() as f64, "")
            .target(Some(Target::AtMost(1.0)))
            .note("read on the wire, with a pool of four"),
        Figure::count(GROUP, "answered by the handler", of(200), "")
            .target(Some(Target::AtMost(1.0))),
        Figure::count(GROUP, "answered 409", of(409), "").target(Some(Target::AtLeast(refused))),
    ])
}

async fn what_others_notice(bench: &Bench, database: &Database) -> Outcome<Vec<Figure>> {
    let app = bench.app(database).pool(POOL).start().await;
    warm_up(&app).await?;
    let sides = interleaved(bench.options.rounds(), 2, async |side| {
        let waited = match side {
            0 => in_a_storm(&app).await?,
            _ => without(&app).await?,
        };
        if bench.options.verbose {
            let millis = [waited.first * 1e3, waited.then * 1e3];
            eprintln!("idem-bench:     storm {}: {millis:.2?} ms", side == 0);
        }
        Ok(waited)
    })
    .await?;
    let of_handler = sides[0]
        .iter()
        .map(|waited| waited.first / HANDLER.as_secs_f64());
    Ok(vec![
        Figure::ratio(
            GROUP,
            "another request while it lasts / without a storm, median latency",
            ratio(&sides[0], &sides[1], |waited| waited.then),
        ),
        Figure::ratio(
            GROUP,
            "another request sent together with all duplicates / without a storm, latency",
            ratio(&sides[0], &sides[1], |waited| waited.first),
        )
        .note("the processor has a thousand requests to answer first"),
        Figure::ratio(
            GROUP,
            "another request sent together with all duplicates / the storm's handler, latency",
            Spread::of(of_handler.collect()),
        )
        .note("1 were a request that waits for the handler"),
    ])
}

async fn in_a_storm(app: &App) -> Outcome<Waited> {
    let storm = Storm::gather(app).await?;
    let mut other = app.connect().await;
    storm.start().await;
    let start = Instant::now();
    let first = exchange(&mut other).await?;
    let then = again_and_again(&mut other, start + HANDLER / 2, HANDLER / 4).await?;
    storm.statuses().await?;
    Ok(Waited { first, then })
}

async fn without(app: &App) -> Outcome<Waited> {
    let mut other = app.connect().await;
    let usual = again_and_again(&mut other, Instant::now(), HANDLER / 4).await?;
    Ok(Waited {
        first: usual,
        then: usual,
    })
}

/// The median latency, beginning when the duplicates have their answers and only the handler still runs.
async fn again_and_again(
    connection: &mut Connection,
    from: Instant,
    duration: Duration,
) -> Outcome<f64> {
    tokio::time::sleep_until(from.into()).await;
    let mut latencies = Latencies::default();
    while from.elapsed() < duration {
        latencies.push(Duration::from_secs_f64(exchange(connection).await?));
    }
    Ok(latencies.quantile(0.5))
}

/// Connections that are about to send the same request.
struct Storm {
    barrier: Arc<Barrier>,
    tasks: JoinSet<Outcome<u16>>,
}

impl Storm {
    async fn gather(app: &App) -> Outcome<Self> {
        let request = request(HANDLER);
        let barrier = Arc::new(Barrier::new(DUPLICATES + 1));
        let mut tasks = JoinSet::new();
        for _ in 0..DUPLICATES {
            let mut connection = app.connect().await;
            let (barrier, request) = (Arc::clone(&barrier), request.clone());
            tasks.spawn(async move {
                barrier.wait().await;
                Ok(connection.send(&request).await?.status)
            });
        }
        Ok(Self { barrier, tasks })
    }

    async fn start(&self) {
        self.barrier.wait().await;
    }

    async fn statuses(mut self) -> Outcome<Vec<u16>> {
        let mut statuses = Vec::new();
        while let Some(status) = self.tasks.join_next().await {
            statuses.push(status??);
        }
        Ok(statuses)
    }
}

/// Every connection of the pool has been used.
async fn warm_up(app: &App) -> Outcome {
    let mut tasks = JoinSet::new();
    for _ in 0..4 * POOL {
        let mut connection = app.connect().await;
        tasks.spawn(async move {
            for _ in 0..10 {
                exchange(&mut connection).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// A first attempt that takes no time of its own; how long it took.
async fn exchange(connection: &mut Connection) -> Outcome<f64> {
    let start = Instant::now();
    let response = connection.send(&request(Duration::ZERO)).await?;
    if response.status != 200 {
        return Err(format!("{} instead of 200: {}", response.status, response.text()).into());
    }
    Ok(start.elapsed().as_secs_f64())
}

fn request(sleep: Duration) -> Request {
    let key = key_text(fresh_keys(1).start);
    Request::post("/account/script")
        .bearer("bench:token")
        .key(key)
        .json(&json!({ "label": "bench", "sleep_ms": sleep.as_millis() as u64, "body_size": 300 }))
}
