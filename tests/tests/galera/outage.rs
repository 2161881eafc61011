//! A node dies or is cut off. Each case has a cluster of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncMysqlConnection, SimpleAsyncConnection};
use idem_tests::{App, Request, Response, Stage, send, until};
use serde_json::json;
use tokio::task::block_in_place;
use xtask::{Galera, Reads};

use crate::asking::{
    ONCE, TESTAPP, ask, assert_once, assert_original, assert_replay, marking, with,
};

const ROUNDS: usize = 3;
const CLIENTS: usize = 8;

/// SIGKILL, in the middle of many COMMITs. What was acknowledged is there, what was in doubt happened once or not at all,
/// and the retry at another node finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "`cargo xtask galera` runs it"]
async fn a_node_dies_under_load() {
    let mut galera = cluster();
    let (stage, apps) = at(&galera).await;
    let (mut doubts, mut total) = (0, 0);
    for round in 0..ROUNDS {
        let is_over = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| tokio::spawn(client(&apps, number, round, Arc::clone(&is_over))))
            .collect();
        until("some operations are done", || async {
            (stage.database.records().await > 120 * (i64::try_from(round).unwrap() + 1))
                .then_some(())
        })
        .await;
        block_in_place(|| galera.kill(2)).unwrap();
        is_over.store(true, Ordering::SeqCst);
        for client in clients {
            let done = client.await.unwrap();
            doubts += done.iter().filter(|(_, _, attempts)| *attempts > 1).count();
            total += done.len();
            for (label, answer, _) in done {
                let request = ask(ONCE, &label, &marking(&label));
                assert_once(&stage, &apps[..2], &request, &label, &answer).await;
            }
        }
        block_in_place(|| galera.revive(2)).unwrap();
        // The application was not restarted, and neither were the others.
        let label = format!("back{round}");
        let request = ask(ONCE, &label, &marking(&label));
        let answer = patiently(&apps[2], &request).await;
        assert_once(&stage, &apps, &request, &label, &answer).await;
    }
    assert!(
        doubts > 0,
        "the node died beside the load: the test shows nothing"
    );
    println!("{total} operations over {ROUNDS} deaths, {doubts} of them asked again");
    stage.discard().await;
}

/// A node without the others answers nothing (1047), and its application says 503; what it was at is done once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "`cargo xtask galera` runs it"]
async fn a_node_that_is_cut_off_says_503() {
    let galera = cluster();
    let (stage, apps) = at(&galera).await;
    let url = &galera.urls()[2];
    let script = with(&marking("k"), &json!({ "gate": "k" }));
    let request = ask(ONCE, "k", &script);
    let running = apps[2].send_in_background(&request);
    apps[2].reached("k", 1).await;
    isolate(url, true).await;
    until("the node stands alone", || async {
        let answer = apps[2].send(&ask(ONCE, "alone", &marking("alone"))).await;
        (answer.status == 503).then(|| assert_unavailable(&answer))
    })
    .await;
    apps[2].open_gate("k").await;
    assert_unavailable(&running.await.unwrap());
    // The others go on.
    apps[1].open_gate("k").await;
    let answer = patiently(&apps[1], &request).await;
    assert_original(&answer);
    isolate(url, false).await;
    assert_replay(&answer, &patiently(&apps[2], &request).await);
    assert_once(&stage, &apps, &request, "k", &answer).await;
    let alone = ask(ONCE, "alone", &marking("alone"));
    let answer = patiently(&apps[0], &alone).await;
    assert_once(&stage, &apps, &alone, "alone", &answer).await;
    stage.discard().await;
}

fn cluster() -> Galera {
    block_in_place(|| Galera::start(Reads::AsTheyAre)).unwrap_or_else(|error| panic!("{error}"))
}

async fn at(galera: &Galera) -> (Stage, Vec<App>) {
    let stage = Stage::of_nodes(&galera.urls(), TESTAPP).await;
    let mut apps = Vec::new();
    for node in 0..3 {
        let url = stage.database.url_at(node);
        let launch = stage.app().database_url(url).argument("--pool-timeout-ms");
        apps.push(launch.argument("1000").start().await);
    }
    (stage, apps)
}

/// One operation after the other, each first at the node that will die, and then in turn; with its answer and how many
/// attempts it took.
fn client(
    apps: &[App],
    number: usize,
    round: usize,
    is_over: Arc<AtomicBool>,
) -> impl Future<Output = Vec<(String, Response, usize)>> + use<> {
    let addresses: Vec<_> = apps.iter().map(App::address).collect();
    async move {
        let mut done = Vec::new();
        while !is_over.load(Ordering::SeqCst) {
            let label = format!("client{round}-{number}-{}", done.len());
            let request = ask(ONCE, &label, &marking(&label));
            let mut attempts = 0;
            let answer = loop {
                attempts += 1;
                let answer = send(addresses[(attempts + 1) % 3], &request).await.unwrap();
                if answer.status == 201 {
                    break answer;
                }
                assert!(matches!(answer.status, 409 | 500 | 503), "{answer:?}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            done.push((label, answer, attempts));
        }
        done
    }
}

/// Sends it until the answer is final, for longer than a node takes to come back.
async fn patiently(app: &App, request: &Request) -> Response {
    for _ in 0..600 {
        let answer = app.send(request).await;
        if answer.status < 400 {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("in vain waited for a final answer");
}

async fn isolate(url: &str, is_alone: bool) {
    let mut connection = AsyncMysqlConnection::establish(url).await.unwrap();
    let alone = u8::from(is_alone);
    let set = format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={alone}'");
    connection.batch_execute(&set).await.unwrap();
}

#[track_caller]
fn assert_unavailable(answer: &Response) {
    answer.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(answer.header("Retry-After").is_some(), "{answer:?}");
}
