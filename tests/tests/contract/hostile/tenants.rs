//! A tenant that hammers one key, or a key after the other, beside one that works as ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use idem_tests::{App, Connection, Request, Stage, in_both_styles, in_both_styles_on_postgres};
use tokio::task::JoinHandle;

use super::answered;
use crate::asking::{ask, assert_in_flight, assert_replay, gated, marking};

in_both_styles! {
    hammering_one_key,
    hammering_a_key_after_the_other,
}

in_both_styles_on_postgres! { duplicates_that_wait_take_no_connection_from_others }

/// Connections of the hammering tenant, each of which sends as fast as it is answered.
const HAMMERS: usize = 4;
const ROUNDS: usize = 5;
const REQUESTS: usize = 20;
/// What others may lose at most. Application, database, clients and this test share the same cores, and with four
/// hammers beside it the victim is one of five: about five is what fair shares come to, and what was measured.
const FACTOR: u32 = 25;
/// The noise of a busy machine, which is not the hammer's doing.
const NOISE: Duration = Duration::from_millis(100);

/// A victim's request, which works, and whose key is new.
fn work(key: &str) -> Request {
    Request::post("/account/script")
        .bearer("victim:one")
        .key(key)
        .json(&marking("victim"))
}

async fn hammering_one_key(stage: &Stage) {
    slowed_down(&stage.start().await, "one key", |_| "same".to_owned()).await;
}

async fn hammering_a_key_after_the_other(stage: &Stage) {
    slowed_down(&stage.start().await, "many keys", |turn| {
        format!("key-{turn}")
    })
    .await;
}

/// The median latency of the victim without and with the hammer, in turns.
async fn slowed_down(app: &App, what: &str, key: fn(u64) -> String) {
    let (mut quiet, mut hammered) = (Vec::new(), Vec::new());
    let turns = Arc::new(AtomicU64::new(0));
    for round in 0..=ROUNDS {
        let calm = latencies(app, &format!("{what} calm {round}")).await;
        let hammers = Hammers::start(app, &turns, key);
        let loud = latencies(app, &format!("{what} loud {round}")).await;
        hammers.stop().await;
        // The first round warms everything up.
        if round > 0 {
            quiet.extend(calm);
            hammered.extend(loud);
        }
    }
    let (quiet, hammered) = (median(quiet), median(hammered));
    let sent = turns.load(Ordering::Relaxed);
    println!("{what}: {quiet:?} alone, {hammered:?} beside {sent} requests of the hammer");
    assert!(sent > 100, "the hammer did not hammer: {sent}");
    assert!(
        hammered < quiet * FACTOR + NOISE,
        "{quiet:?}, then {hammered:?}"
    );
}

async fn latencies(app: &App, name: &str) -> Vec<Duration> {
    let mut connection = app.connect().await;
    let mut latencies = Vec::new();
    for turn in 0..REQUESTS {
        let request = work(&format!("\"{name} {turn}\""));
        let start = Instant::now();
        let answer = connection.send(&request).await.expect("an answer");
        latencies.push(start.elapsed());
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    latencies
}

fn median(mut latencies: Vec<Duration>) -> Duration {
    latencies.sort();
    latencies[latencies.len() / 2]
}

struct Hammers {
    is_over: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Hammers {
    fn start(app: &App, turns: &Arc<AtomicU64>, key: fn(u64) -> String) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let tasks = (0..HAMMERS).map(|_| {
            let (address, is_over, turns) = (app.address(), is_over.clone(), turns.clone());
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await.expect("a connection");
                while !is_over.load(Ordering::Relaxed) {
                    let key = key(turns.fetch_add(1, Ordering::Relaxed));
                    let request = Request::post("/account/script")
                        .bearer("hammer:one")
                        .key(key)
                        .json(&marking("hammer"));
                    let answer = connection.send(&request).await.expect("an answer");
                    // 409 while the first one of its key runs.
                    assert!(matches!(answer.status, 201 | 409 | 503), "{answer:?}");
                }
            })
        });
        Self {
            tasks: tasks.collect(),
            is_over,
        }
    }

    async fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("it only hammered");
        }
    }
}

/// A hundred that wait for the first one of their key hold no connection: with a pool of two, of which the first one
/// has one, everybody else works on the other.
async fn duplicates_that_wait_take_no_connection_from_others(stage: &Stage) {
    let app = stage
        .app()
        .pool(2)
        .argument("--pool-timeout-ms")
        .argument("2000")
        .start()
        .await;
    let hammered = ask("/wait/script", "held", &gated("held"));
    let first = app.send_in_background(&hammered);
    app.reached("held", 1).await;
    let waiting: Vec<_> = (0..100)
        .map(|_| app.send_in_background(&hammered))
        .collect();
    for turn in 0..20 {
        let answer = answered(&app, "beside the waiting", &work(&format!("k{turn}"))).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    app.open_gate("held").await;
    let first = first.await.expect("an answer");
    assert_eq!(first.status, 201);
    for answer in waiting {
        let answer = answer.await.expect("an answer");
        // Those whose wait was over before.
        if answer.status == 409 {
            assert_in_flight(&answer);
        } else {
            assert_replay(&first, &answer);
        }
    }
}
