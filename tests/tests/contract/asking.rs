//! How the cases ask and what several of them check. No case lives here.

use idem_tests::{App, Request, Response, Stage, all_at_once, send, until};
use serde_json::{Value, json};

/// A script, asked for by the account `acme`.
pub(crate) fn ask(path: &str, key: &str, script: &Value) -> Request {
    Request::post(path).bearer("acme:one").key(key).json(script)
}

/// The same request `count` times at one moment, in turn over these processes.
pub(crate) async fn storm(apps: &[&App], count: usize, request: &Request) -> Vec<Response> {
    let addresses: Vec<_> = apps.iter().map(|app| app.address()).collect();
    all_at_once(count, |index| {
        let (address, request) = (addresses[index % addresses.len()], request.clone());
        async move { send(address, &request).await.expect("an answer") }
    })
    .await
}

/// Sends a request until it is not in flight any more.
pub(crate) async fn settled(app: &App, request: &Request) -> Response {
    until("the first attempt is over", || async {
        let answer = app.send(request).await;
        (answer.code() != "idempotency-in-flight").then_some(answer)
    })
    .await
}

/// Returns when the database has noticed that every attempt is over.
pub(crate) async fn nothing_open(stage: &Stage) {
    until("no transaction is open", || async {
        (stage.database.open_transactions().await == 0).then_some(())
    })
    .await;
}

/// One is the original; each other is its replay or a 409 that says when to come back.
#[track_caller]
pub(crate) fn assert_one_original(answers: &[Response]) {
    let is_refused = |answer: &&Response| answer.code() == "idempotency-in-flight";
    let originals: Vec<_> = answers
        .iter()
        .filter(|answer| !is_refused(answer) && !answer.is_replay())
        .collect();
    assert_eq!(originals.len(), 1, "{originals:#?}");
    assert_followers(originals[0], answers);
}

/// Each but the original is its replay or a 409.
#[track_caller]
pub(crate) fn assert_followers(original: &Response, answers: &[Response]) {
    for answer in answers {
        if answer.code() == "idempotency-in-flight" {
            assert_in_flight(answer);
        } else {
            assert_eq!(answer.comparable(), original.comparable());
        }
    }
}

#[track_caller]
pub(crate) fn assert_in_flight(answer: &Response) {
    answer.assert_problem(409, "idempotency-in-flight", true);
    assert!(answer.header("Retry-After").is_some(), "no Retry-After");
}

#[track_caller]
pub(crate) fn assert_replay(original: &Response, replay: &Response) {
    assert!(!original.is_replay(), "{original:?}");
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(replay.comparable(), original.comparable());
}

/// A request that leaves its mark gets 201.
pub(crate) async fn assert_runs(app: &App, key: &str, label: &str) {
    let answer = app
        .send(&ask("/account/script", key, &marking(label)))
        .await;
    assert_eq!(answer.status, 201, "{key}: {}", answer.text());
}

#[track_caller]
pub(crate) fn assert_reused(answer: &Response) {
    answer.assert_problem(422, "idempotency-key-reused", false);
}

/// A script that leaves its mark and says `done`.
pub(crate) fn marking(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": "done" })
}

/// A script that leaves its mark and waits at a gate of the label's name.
pub(crate) fn gated(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": "done", "gate": label })
}
