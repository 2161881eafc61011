//! `in_flight = "accept"`: a duplicate gets 202 and the address of a status resource.

use idem_tests::{App, Request, Response, Stage, on_all};
use serde_json::json;

use super::{assert_original, assert_unresolved, strand};
use crate::asking::{ask, assert_replay, assert_reused, gated, marking};

on_all! {
    a_duplicate_is_accepted,
    nobody_else_sees_it,
    a_stranded_operation_that_may_be_run_again,
    a_stranded_operation_that_is_held,
}

const ACCEPT: &str = "/accept/script";
const ACCEPT_HOLD: &str = "/accept-hold/script";

/// 202 and nothing in it; where to look.
#[track_caller]
fn assert_accepted(answer: &Response) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert!(answer.body.is_empty() && !answer.is_replay(), "{answer:?}");
    assert!(answer.header("Retry-After").is_some(), "no Retry-After");
    answer.header("Location").expect("an address").to_owned()
}

#[track_caller]
fn assert_running(answer: &Response) {
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert!(answer.header("Retry-After").is_some(), "no Retry-After");
}

async fn look(app: &App, account: &str, location: &str) -> Response {
    app.send(&Request::get(location).bearer(account)).await
}

async fn a_duplicate_is_accepted(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    let request = ask(ACCEPT, "geheim", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let location = assert_accepted(&app.send(&request).await);
    assert!(location.starts_with("/operations/"), "{location}");
    assert!(!location.contains("geheim"), "{location}");
    assert_eq!(assert_accepted(&other.send(&request).await), location);
    for process in [&app, &other] {
        assert_running(&look(process, "acme:one", &location).await);
        let other_body = ask(ACCEPT, "geheim", &marking("other"));
        assert_reused(&process.send(&other_body).await);
    }
    app.open_gate("gate").await;
    let first = first.await.unwrap();
    assert_original(&first);
    for process in [&app, &other] {
        assert_replay(&first, &process.send(&request).await);
        // Another token of the same account.
        assert_replay(&first, &look(process, "acme:two", &location).await);
    }
    assert_eq!(other.entered("gate").await, 0);
}

async fn nobody_else_sees_it(stage: &Stage) {
    let app = stage.start().await;
    let request = ask(ACCEPT, "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let location = assert_accepted(&app.send(&request).await);
    let (front, id) = location.rsplit_once('/').unwrap();
    let nowhere = [
        format!("{front}/{}", id.chars().rev().collect::<String>()),
        format!("{front}/{}", "0".repeat(id.len())),
        format!("{front}/nonsense"),
    ];
    assert_unknown(&look(&app, "other:one", &location).await);
    for place in &nowhere {
        assert_unknown(&look(&app, "acme:one", place).await);
    }
    let nobody = app.send(&Request::get(&location)).await;
    assert!(matches!(nobody.status, 401 | 404), "{nobody:?}");
    app.open_gate("gate").await;
    assert_original(&first.await.unwrap());
    assert_unknown(&look(&app, "other:one", &location).await);
    let nobody = app.send(&Request::get(&location)).await;
    assert!(matches!(nobody.status, 401 | 404), "{nobody:?}");
    // What has expired is not there any more.
    stage.database.expire_all().await;
    assert_unknown(&look(&app, "acme:one", &location).await);
}

async fn a_stranded_operation_that_may_be_run_again(stage: &Stage) {
    let request = ask(ACCEPT, "k", &gated("gate"));
    strand(stage, &request, "gate").await;
    let app = stage.start().await;
    app.open_gate("gate").await;
    let location = assert_accepted(&app.send(&request).await);
    stage.database.expire_leases().await;
    // Nobody drives it to its end but its client, who is told to.
    let stranded = look(&app, "acme:one", &location).await;
    assert_unresolved(&stranded);
    assert!(
        stranded.text().contains("Send it again"),
        "{}",
        stranded.text()
    );
    assert_eq!(app.entered("gate").await, 0, "to look is not to ask");
    let retry = app.send(&request).await;
    assert_original(&retry);
    assert_replay(&retry, &look(&app, "acme:one", &location).await);
}

async fn a_stranded_operation_that_is_held(stage: &Stage) {
    let request = ask(ACCEPT_HOLD, "k", &gated("gate"));
    strand(stage, &request, "gate").await;
    let app = stage.start().await;
    let location = assert_accepted(&app.send(&request).await);
    assert_running(&look(&app, "acme:one", &location).await);
    stage.database.expire_leases().await;
    assert_unresolved(&app.send(&request).await);
    assert_unresolved(&look(&app, "acme:one", &location).await);
    assert_unknown(&look(&app, "other:one", &location).await);
    let failing = json!({ "label": "failing", "fail": "panic" });
    let failing = ask(ACCEPT_HOLD, "failing", &failing);
    assert_eq!(app.send(&failing).await.status, 500);
    assert_unresolved(&app.send(&failing).await);
}

#[track_caller]
fn assert_unknown(answer: &Response) {
    let found = (answer.status, answer.code());
    assert_eq!(found, (404, "idempotency-operation-unknown".into()));
}
