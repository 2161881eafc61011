//! The connection is dropped: before, during and behind the commit.

use std::time::Duration;

use idem_client::{Failure, IdempotentClient, Outcome, Why, reqwest};

use crate::server::{Received, Server, Turn};
use crate::{backoff, builder, client};

const SHORT: Duration = Duration::from_millis(500);

/// Every attempt was the same operation.
#[track_caller]
fn assert_one_operation(received: &[Received]) {
    let key = received[0].header("idempotency-key").unwrap();
    for attempt in received {
        assert_eq!(attempt.header("idempotency-key"), Some(key));
        assert_eq!(attempt.body, received[0].body);
        assert_eq!(
            attempt.header("content-type"),
            received[0].header("content-type")
        );
    }
}

async fn one_effect(client: &IdempotentClient, turn: Turn, is_committed: bool) {
    let server = Server::start(&[turn]).await;
    // More than goes into the buffers of a connection.
    let order = serde_json::json!({ "item": "tea", "note": "x".repeat(8 << 20) });
    let outcome = client.post(server.url()).json(&order).send().await.unwrap();
    let Outcome::Done(done) = &outcome else {
        panic!("{turn:?}: {outcome:?}");
    };
    assert_eq!(done.answer().status(), 201, "{turn:?}");
    assert_eq!(&done.answer().body()[..], b"order 0", "{turn:?}");
    assert_eq!(outcome.attempts(), 2, "{turn:?}");
    assert_eq!(outcome.replayed(), is_committed, "{turn:?}");
    assert_eq!(server.effects(), 1, "{turn:?}");
    assert_one_operation(&server.received());
}

#[tokio::test]
async fn dropped_before_the_commit() {
    for turn in [Turn::CloseUnread, Turn::CloseHalfRead, Turn::CloseBefore] {
        one_effect(&client(), turn, false).await;
    }
}

#[tokio::test]
async fn dropped_behind_the_commit() {
    for turn in [Turn::CloseBehind, Turn::CutHead, Turn::CutBody] {
        one_effect(&client(), turn, true).await;
    }
}

#[tokio::test]
async fn not_answered_in_time() {
    // The second attempt gets all the time that it needs: the order is small.
    let client = builder()
        .attempt_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let server = Server::start(&[Turn::Stall]).await;
    let outcome = client.post(server.url()).body("tea").send().await.unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(server.effects(), 1);
    assert_one_operation(&server.received());
}

#[tokio::test]
async fn dropped_again_and_again() {
    let turns = [
        Turn::CloseBefore,
        Turn::CloseUnread,
        Turn::CutHead,
        Turn::CloseHalfRead,
        Turn::CutBody,
        Turn::CloseBehind,
        Turn::CloseUnread,
    ];
    let server = Server::start(&turns).await;
    let outcome = client()
        .post(server.url())
        .body("tea")
        .send()
        .await
        .unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(outcome.attempts() as usize, turns.len() + 1);
    assert_eq!(server.effects(), 1);
    assert_one_operation(&server.received());
}

/// An application's own policy in the HTTP client would send behind our back, and show us the last of its attempts only.
#[tokio::test]
async fn the_http_client_does_not_retry_by_itself() {
    let server = Server::start(&[Turn::CloseBehind, Turn::CloseBehind]).await;
    let always = reqwest::retry::for_host("127.0.0.1")
        .no_budget()
        .max_retries_per_request(1)
        .classify_fn(|attempt| attempt.retryable());
    let http = reqwest::Client::builder().retry(always);
    let once = backoff().with_max_times(0);
    let client = builder().http(http).backoff(once).build().unwrap();
    let outcome = client.post(server.url()).body("tea").send().await.unwrap();
    assert_eq!((server.received().len(), server.effects()), (1, 1));
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(unknown.may_be_done(), "{unknown:?}");
    assert!(
        matches!(unknown.failure(), Some(Failure::Lost(_))),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn many_at_once_have_a_key_each() {
    const COUNT: usize = 16;
    let server = Server::start(&[Turn::CloseBehind; COUNT]).await;
    let client = client();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..COUNT {
        // The same order each time: an intent of its own.
        calls.spawn(client.post(server.url()).body("coffee").send());
    }
    for outcome in calls.join_all().await {
        assert!(matches!(outcome.unwrap(), Outcome::Done(_)));
    }
    assert_eq!(server.effects(), COUNT);
}

#[tokio::test]
async fn nobody_listens_and_then_somebody_does() {
    let address = Server::nowhere().await;
    let few = backoff().with_max_times(3);
    let client = builder().backoff(few).build().unwrap();
    let mut operation = client
        .post(format!("http://{address}/orders"))
        .body("tea")
        .prepare()
        .unwrap();
    let outcome = client.run(&mut operation).await.unwrap();
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(unknown.attempts(), 4);
    assert!(
        matches!(unknown.failure(), Some(Failure::Connect(_))),
        "{unknown:?}"
    );
    assert_eq!((unknown.why(), unknown.may_be_done()), (Why::Budget, false));
    assert!(!operation.may_have_arrived());

    let names = ("idempotency-key", "Idempotent-Replayed: true");
    let server = Server::at(address, &[], names).await;
    let outcome = client.run(&mut operation).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && !outcome.replayed(),
        "{outcome:?}"
    );
    let key = server.received()[0]
        .header("idempotency-key")
        .unwrap()
        .to_vec();
    assert_eq!(operation.key().unwrap().as_bytes(), key);
}

#[tokio::test]
async fn the_budget_ends_it_and_the_operation_comes_back() {
    let server = Server::start(&[Turn::Stall]).await;
    let client = builder().budget(SHORT).build().unwrap();
    let outcome = client.post(server.url()).body("tea").send().await.unwrap();
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(unknown.may_be_done() && unknown.why().may_go_on());
    assert!(
        matches!(unknown.failure(), Some(Failure::Timeout)),
        "{unknown:?}"
    );

    let patient = crate::client();
    let mut operation = unknown.into_operation();
    let outcome = patient.run(&mut operation).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(server.effects(), 1);
    assert_one_operation(&server.received());
}

#[tokio::test]
async fn a_call_that_is_dropped_can_be_made_again() {
    let server = Server::start(&[Turn::Stall]).await;
    let client = client();
    let mut operation = client.post(server.url()).body("tea").prepare().unwrap();
    tokio::select! {
        outcome = client.run(&mut operation) => panic!("{outcome:?}"),
        () = server.has_received(1) => {}
    }
    assert!(operation.may_have_arrived());
    let outcome = client.run(&mut operation).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(server.effects(), 1);
    assert_one_operation(&server.received());
}
