//! Clients that go away, at any moment.

use std::time::Duration;

use idem_tests::{App, Connection, Request, Stage, asynchronous, in_both_styles};

use crate::asking::{ask, assert_runs, gated, marking, nothing_open, settled};

const REQUESTS: u32 = 200;

in_both_styles! {
    two_hundred_aborted_requests_on_a_pool_of_one,
    hanging_up_after_the_insert,
    a_truncated_upload,
    a_truncated_head,
    stopped_while_a_handler_runs,
}

asynchronous! { two_hundred_aborted_requests_on_a_deadpool_of_one }

async fn two_hundred_aborted_requests_on_a_pool_of_one(stage: &Stage) {
    abort_many(stage, stage.app().pool(1).start().await).await;
}

async fn two_hundred_aborted_requests_on_a_deadpool_of_one(stage: &Stage) {
    abort_many(
        stage,
        stage.app().pool(1).argument("--deadpool").start().await,
    )
    .await;
}

async fn abort_many(stage: &Stage, app: App) {
    let mut random = 1;
    for index in 0..REQUESTS {
        let wire = aborted(index).encode();
        let mut connection = app.connect().await;
        random = next(random);
        // One in four is not even complete.
        let length = if random % 4 == 0 {
            wire.len() * (random as usize % 100) / 100
        } else {
            wire.len()
        };
        connection.write(&wire[..length]).await.unwrap();
        random = next(random);
        // The moment is what is random here; nothing is waited for.
        tokio::time::sleep(Duration::from_micros(u64::from(random % 4000))).await;
        connection.reset().unwrap();
    }
    nothing_open(stage).await;
    let next = settled(&app, &ask("/account/script", "next", &marking("next"))).await;
    assert_eq!(next.status, 201, "{}", next.text());
    assert_eq!(stage.database.effects("next").await, 1);
    for index in 0..REQUESTS {
        assert_eq!(settled(&app, &aborted(index)).await.status, 201);
    }
    assert_eq!(stage.database.effects("aborted").await, i64::from(REQUESTS));
}

fn aborted(index: u32) -> Request {
    ask(
        "/account/script",
        &format!("aborted{index}"),
        &marking("aborted"),
    )
}

/// A number that looks like chance and is the same in every run.
fn next(state: u32) -> u32 {
    state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) >> 3 ^ state.rotate_left(7)
}

async fn hanging_up_after_the_insert(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let request = ask("/account/script", "k", &gated("gate"));
    let mut connection = app.connect().await;
    connection.write(&request.encode()).await.unwrap();
    app.reached("gate", 1).await;
    connection.reset().unwrap();
    app.open_gate("gate").await;
    let retry = settled(&app, &request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, true));
    let effects = app.effects("gate").await;
    assert_eq!((effects.committed, effects.entered), (1, 1));
}

async fn a_truncated_upload(stage: &Stage) {
    // A worker that dies with its client is one that the next request would miss.
    let app = stage.app().workers(1).start().await;
    let head = Request::post("/account/script")
        .bearer("acme:one")
        .key("k")
        .header("Content-Type", "application/json");
    for is_reset in [false, true] {
        let mut connection = app.connect().await;
        connection.write(&promising(&head, 100, 50)).await.unwrap();
        if is_reset {
            connection.reset().unwrap();
        } else {
            drop(connection);
        }
    }
    let answer = app
        .send(&ask("/account/script", "k", &marking("whole")))
        .await;
    assert_eq!((answer.status, answer.is_replay()), (201, false));
    assert_eq!(stage.database.records().await, 1);
}

/// A request that promises more bytes than it has.
fn promising(head: &Request, promised: usize, sent: usize) -> Vec<u8> {
    let wire = head.clone().body(vec![b' '; promised]).encode();
    wire[..wire.len() - (promised - sent)].to_vec()
}

async fn a_truncated_head(stage: &Stage) {
    let app = stage.app().workers(1).start().await;
    let wire = ask("/account/script", "k", &marking("half")).encode();
    for length in [1, 20, 60] {
        let mut connection: Connection = app.connect().await;
        connection.write(&wire[..length]).await.unwrap();
        connection.reset().unwrap();
    }
    assert_runs(&app, "k", "whole").await;
    assert_eq!(stage.database.effects("half").await, 0);
}

/// The server is told to stop and does not wait any longer for the handler: dropped, and rolled back.
async fn stopped_while_a_handler_runs(stage: &Stage) {
    let app = stage
        .app()
        .argument("--shutdown-timeout-s")
        .argument("1")
        .start()
        .await;
    let request = ask("/account/script", "k", &gated("gate"));
    let mut connection = app.connect().await;
    connection.write(&request.encode()).await.unwrap();
    app.reached("gate", 1).await;
    app.terminate().await;
    assert!(app.ended().await.success());
    nothing_open(stage).await;
    assert_eq!(stage.database.effects("gate").await, 0);
    let app = stage.start().await;
    app.open_gate("gate").await;
    let retry = settled(&app, &request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, false));
    assert_eq!(stage.database.effects("gate").await, 1);
}
