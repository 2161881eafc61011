//! Steps: finished ones answer from their records, the others are taken again, and both kinds keep their promise.

use idem_tests::{App, Request, Stage, all_at_once, on_all, send};
use serde_json::{Value, json};

use super::{
    STEPS, assert_failed, assert_original, assert_steps_done_once, calls, stepping, stepping_gated,
    stepping_with, strand, with,
};
use crate::asking::{ask, assert_one_original, assert_replay, nothing_open, settled};

on_all! {
    each_step_is_taken_once,
    finished_steps_answer_from_their_records,
    a_failed_transaction_is_rolled_back_and_taken_again,
    a_failed_call_is_made_again_with_the_same_key,
    a_panic_in_a_step,
    a_domain_error_in_a_step_is_the_answer,
    a_refusal_in_the_last_step_keeps_what_was_done,
    stranded_in_each_step,
    a_step_that_takes_too_long,
    a_step_that_comes_twice,
    derived_keys,
    pool_of_one_never_hangs,
}

async fn each_step_is_taken_once(stage: &Stage) {
    let app = stage.start().await;
    let request = ask(STEPS, "k", &stepping("once"));
    let first = app.send(&request).await;
    assert_original(&first);
    assert_eq!(first.header("X-Steps"), Some("1,1,1"));
    assert_replay(&first, &app.send(&request).await);
    assert_steps_done_once(&app, "once").await;
    assert_eq!(calls(&app, "once").await, [1, 1]);
    assert_eq!(stage.database.pending().await, 0);
}

async fn finished_steps_answer_from_their_records(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    let fails = json!({ "fail": "err", "fails": 1 });
    let request = ask(STEPS, "k", &with(&stepping("again"), &fails));
    assert_eq!(app.send(&request).await.status, 500);
    assert_eq!(stage.database.pending().await, 1);
    // Free at once, for everybody: the lease has ended with the handler.
    assert_eq!(other.send(&request).await.status, 500);
    let retry = app.send(&request).await;
    assert_original(&retry);
    assert_eq!(retry.header("X-Steps"), Some("1,1,1"));
    assert_replay(&retry, &other.send(&request).await);
    assert_eq!(taken(&app, "again").await, [1, 1, 1]);
    assert_eq!(taken(&other, "again").await, [0, 0, 0]);
    assert_steps_done_once(&app, "again").await;
    assert_eq!(calls(&app, "again").await, [1, 1]);
}

async fn a_failed_transaction_is_rolled_back_and_taken_again(stage: &Stage) {
    let app = stage.start().await;
    let request = ask(STEPS, "k", &stepping_with("failed", 1, &failing("err")));
    assert_eq!(app.send(&request).await.status, 500);
    let effects = app.effects("failed").await;
    assert_eq!((effects.committed, effects.calls.len()), (0, 1));
    assert_eq!(stage.database.open_transactions().await, 0);
    let retry = app.send(&request).await;
    assert_original(&retry);
    assert_eq!(retry.header("X-Steps"), Some("1,2,1"));
    assert_steps_done_once(&app, "failed").await;
    assert_eq!(calls(&app, "failed").await, [1, 1]);
}

/// It was made and its answer was lost.
async fn a_failed_call_is_made_again_with_the_same_key(stage: &Stage) {
    let app = stage.start().await;
    for step in [0, 2] {
        let label = format!("failed{step}");
        let script = stepping_with(&label, step, &failing("err"));
        let request = ask(STEPS, &label, &script);
        assert_eq!(app.send(&request).await.status, 500);
        assert_original(&app.send(&request).await);
        assert_steps_done_once(&app, &label).await;
        assert_eq!(calls(&app, &label).await, [1, 2], "{label}");
    }
}

async fn a_panic_in_a_step(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for step in 0..3 {
        let label = format!("panic{step}");
        let script = stepping_with(&label, step, &failing("panic"));
        let request = ask(STEPS, &label, &script);
        assert_failed(&app.send(&request).await, 500);
        // The connection is closed; the server hears of it a moment later.
        nothing_open(stage).await;
        assert_original(&app.send(&request).await);
        assert_steps_done_once(&app, &label).await;
    }
}

async fn a_domain_error_in_a_step_is_the_answer(stage: &Stage) {
    let app = stage.start().await;
    let script = stepping_with("sold", 1, &json!({ "fail": "err" }));
    let script = with(&script, &json!({ "status": 409, "body": "sold out" }));
    let request = ask(STEPS, "k", &script);
    let first = app.send(&request).await;
    assert_eq!((first.status, first.text()), (409, "sold out".into()));
    assert_replay(&first, &app.send(&request).await);
    assert_eq!(taken(&app, "sold").await, [1, 1, 0]);
    assert_eq!(stage.database.effects("sold").await, 0);
}

/// It is not recorded, but what was done before it is not forgotten.
async fn a_refusal_in_the_last_step_keeps_what_was_done(stage: &Stage) {
    let app = stage.start().await;
    let script = stepping_with("limited", 2, &json!({ "fail": "err", "fails": 1 }));
    let script = with(&script, &json!({ "status": 429 }));
    let request = ask(STEPS, "k", &script);
    assert_eq!(app.send(&request).await.status, 429);
    // The script's own status is what it ends with in the end, too.
    assert_eq!(app.send(&request).await.status, 429);
    assert_eq!(taken(&app, "limited").await, [1, 1, 2]);
    assert_eq!(calls(&app, "limited").await, [1, 2]);
    assert_eq!(stage.database.effects("limited").await, 1);
}

async fn stranded_in_each_step(stage: &Stage) {
    for step in 0..3 {
        let label = format!("stranded{step}");
        let request = ask(STEPS, &label, &stepping_gated(&label, step));
        strand(stage, &request, &label).await;
        let app = stage.start().await;
        app.open_gate(&label).await;
        stage.database.expire_leases().await;
        let retry = app.send(&request).await;
        assert_original(&retry);
        assert_replay(&retry, &app.send(&request).await);
        let finished = (0..3).map(|number| u64::from(number >= step));
        let expected: Vec<_> = finished.collect();
        assert_eq!(taken(&app, &label).await, expected);
        assert_steps_done_once(&app, &label).await;
        assert_eq!(
            calls(&app, &label).await,
            [1, 1],
            "it waited before the call"
        );
    }
}

/// The handler is dropped in the middle of its step.
async fn a_step_that_takes_too_long(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for step in 0..3 {
        let label = format!("late{step}");
        let request = ask("/hasty-steps/script", &label, &stepping_gated(&label, step));
        assert_failed(&app.send(&request).await, 504);
        nothing_open(stage).await;
        app.open_gate(&label).await;
        // At once, or when the lease has run out: it could not be ended while the statement wound down.
        assert_original(&settled(&app, &request).await);
        assert_steps_done_once(&app, &label).await;
        assert_eq!(calls(&app, &label).await, [1, 1]);
    }
}

/// Two steps of one name would share a record: the handler is told, and nothing is done twice.
async fn a_step_that_comes_twice(stage: &Stage) {
    let app = stage.start().await;
    let step = json!({ "name": "order", "kind": "transaction" });
    let script = json!({ "label": "twice", "status": 201, "steps": [step, step] });
    let request = ask(STEPS, "k", &script);
    for _ in 0..2 {
        let answer = app.send(&request).await;
        assert!(answer.status >= 400 && !answer.is_replay(), "{answer:?}");
    }
    assert_eq!(stage.database.effects("twice").await, 1);
}

async fn derived_keys(stage: &Stage) {
    let app = stage.start().await;
    for (key, account) in [("k", "acme:one"), ("l", "acme:one"), ("k", "other:one")] {
        let request = Request::post(STEPS).bearer(account).key(key);
        let request = request.json(&stepping("derived"));
        assert_original(&app.send(&request).await);
    }
    let counts = app.effects("derived").await.calls;
    assert_eq!(counts.len(), 6, "{counts:?}");
    for (key, count) in counts {
        let is_digest = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_digest && count == 1, "{key}: {count}");
    }
}

/// Twenty at once, two for each of ten keys.
async fn pool_of_one_never_hangs(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let address = app.address();
    let answers = all_at_once(20, |index| {
        let request = ask(STEPS, &format!("k{}", index / 2), &stepping("crowd"));
        async move { send(address, &request).await.expect("an answer") }
    })
    .await;
    for pair in answers.chunks(2) {
        assert_one_original(pair);
    }
    let effects = app.effects("crowd").await;
    assert_eq!((effects.committed, effects.calls.len()), (10, 20));
    assert!(effects.calls.values().all(|count| *count == 1));
}

fn failing(fail: &str) -> Value {
    json!({ "fail": fail, "fails": 1 })
}

/// How often each step was taken in this process.
async fn taken(app: &App, label: &str) -> Vec<u64> {
    let mut counts = Vec::new();
    for name in ["charge", "order", "notify"] {
        counts.push(app.entered(&format!("{label}/{name}")).await);
    }
    counts
}
