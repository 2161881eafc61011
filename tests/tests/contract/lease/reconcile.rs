//! What became of an unresolved operation is said by the application's reconciler or by an operator, and by nobody else.

use std::time::Duration;

use actix_web::http::StatusCode;
use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use idem_runtime::{Backend, RecordedResponse, Verdict};
use idem_tests::{App, Request, Response, Stage, on_all, until};
use serde_json::{Value, json};

use super::{
    HOLD, STEPS, assert_original, assert_unresolved, calls, nothing_pending, stepping_gated,
    strand, with, with_worker, without_heartbeat,
};
use crate::asking::{ask, assert_in_flight, assert_replay, assert_reused, gated, marking};

on_all! {
    a_call_that_was_made_is_completed,
    a_call_that_was_not_made_stays_open,
    an_operator_releases_the_key,
    an_operator_completes_the_operation,
    two_reconcilers_settle_it_once,
    a_late_owner_after_a_completion,
    a_late_owner_after_a_release,
    what_an_operator_sees_and_settles,
}

const RETAIN: Duration = Duration::from_secs(3_600);

/// Held, with a call behind the inserts and a gate behind the call.
fn calling(label: &str) -> Value {
    with(&gated(label), &json!({ "call": true }))
}

async fn reconciled(app: &App, request: &Request) -> Response {
    until("it is reconciled", || async {
        let answer = app.send(request).await;
        (answer.code() != "idempotency-unresolved").then_some(answer)
    })
    .await
}

#[track_caller]
fn assert_completed(answer: &Response) {
    let found = (answer.status, answer.is_replay(), answer.text());
    assert_eq!(found, (201, true, "reconciled".into()));
}

async fn say(stage: &Stage, key: &str, verdict: &str) {
    let row = format!("INSERT INTO verdicts (\"key\", verdict) VALUES ('{key}', '{verdict}')");
    stage.database.execute(&row).await;
}

async fn a_call_that_was_made_is_completed(stage: &Stage) {
    let request = ask(HOLD, "k", &calling("gate"));
    strand(stage, &request, "gate").await;
    let app = with_worker(stage, "--reconcile").start().await;
    // As long as the lease is alive there is nothing to settle.
    assert_in_flight(&app.send(&request).await);
    stage.database.expire_leases().await;
    let answer = reconciled(&app, &request).await;
    assert_completed(&answer);
    let again = stage.start().await.send(&request).await;
    assert_eq!(again.comparable(), answer.comparable());
    assert_reused(&app.send(&ask(HOLD, "k", &marking("other"))).await);
    assert_eq!(app.entered("gate").await, 0);
    assert_eq!(calls(&app, "gate").await, [1]);
    assert_eq!(stage.database.pending().await, 0);
}

async fn a_call_that_was_not_made_stays_open(stage: &Stage) {
    let script = with(&calling("gate"), &json!({ "sleep_at": "before" }));
    let request = ask(HOLD, "k", &script);
    strand(stage, &request, "gate").await;
    stage.database.expire_leases().await;
    // Another one shows that the reconciler has been there.
    let other = ask(HOLD, "other", &calling("other"));
    strand(stage, &other, "other").await;
    stage.database.expire_leases().await;
    let app = with_worker(stage, "--reconcile").start().await;
    app.open_gate("gate").await;
    assert_completed(&reconciled(&app, &other).await);
    for _ in 0..10 {
        assert_unresolved(&app.send(&request).await);
    }
    assert_eq!(app.entered("gate").await, 0);
    assert_eq!(stage.database.pending().await, 1);
    // It is asked again: what is not known now may be known later.
    say(stage, "k", "completed").await;
    assert_completed(&reconciled(&app, &request).await);
}

async fn an_operator_releases_the_key(stage: &Stage) {
    let request = ask(HOLD, "k", &calling("gate"));
    strand(stage, &request, "gate").await;
    say(stage, "k", "released").await;
    stage.database.expire_leases().await;
    let app = with_worker(stage, "--reconcile").start().await;
    app.open_gate("gate").await;
    let retry = reconciled(&app, &request).await;
    assert_original(&retry);
    assert_eq!(retry.text(), "done");
    assert_replay(&retry, &app.send(&request).await);
    assert_eq!(app.entered("gate").await, 1);
}

async fn an_operator_completes_the_operation(stage: &Stage) {
    let script = with(&calling("gate"), &json!({ "sleep_at": "before" }));
    let request = ask(HOLD, "k", &script);
    strand(stage, &request, "gate").await;
    say(stage, "k", "completed").await;
    stage.database.expire_leases().await;
    let app = with_worker(stage, "--reconcile").start().await;
    assert_completed(&reconciled(&app, &request).await);
    assert_eq!(app.entered("gate").await, 0);
}

async fn two_reconcilers_settle_it_once(stage: &Stage) {
    let launch = with_worker(stage, "--reconcile");
    let (left, right) = (launch.start().await, launch.start().await);
    let requests: Vec<_> = (0..5)
        .map(|index| ask(HOLD, &format!("k{index}"), &calling("gate")))
        .collect();
    let victim = stage.start().await;
    let asked: Vec<_> = requests
        .iter()
        .map(|one| victim.send_in_background(one))
        .collect();
    victim.reached("gate", 5).await;
    asked.iter().for_each(|one| one.abort());
    victim.kill().await;
    stage.database.expire_leases().await;
    nothing_pending(stage).await;
    for request in &requests {
        assert_completed(&left.send(request).await);
        assert_completed(&right.send(request).await);
    }
    assert_eq!(stage.database.records().await, 5);
}

/// It was only slow; but what was said is what everybody was told.
async fn a_late_owner_after_a_completion(stage: &Stage) {
    let (late, next) = (
        stage.start().await,
        with_worker(stage, "--reconcile").start().await,
    );
    let request = ask(HOLD, "k", &without_heartbeat(&calling("gate")));
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    stage.database.expire_leases().await;
    let answer = reconciled(&next, &request).await;
    assert_completed(&answer);
    late.open_gate("gate").await;
    let first = first.await.unwrap();
    assert_completed(&first);
    assert_eq!(first.comparable(), answer.comparable());
    assert_completed(&late.send(&request).await);
}

async fn a_late_owner_after_a_release(stage: &Stage) {
    let (late, next) = (
        stage.start().await,
        with_worker(stage, "--reconcile").start().await,
    );
    let request = ask(HOLD, "k", &without_heartbeat(&calling("gate")));
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    say(stage, "k", "released").await;
    stage.database.expire_leases().await;
    let released = "SELECT count(*) FROM idempotency_keys WHERE unresolved = 'released'";
    until("it is released", || async {
        (stage.database.number(released).await == 1).then_some(())
    })
    .await;
    // A call of the late owner may be on its way: the key is for the same request.
    assert_reused(&late.send(&ask(HOLD, "k", &marking("other"))).await);
    late.open_gate("gate").await;
    let first = first.await.unwrap();
    assert_unresolved(&first);
    assert!(first.text().contains("Send it again"), "{}", first.text());
    assert_eq!(stage.database.pending().await, 1);
    next.open_gate("gate").await;
    let retry = next.send(&request).await;
    assert_original(&retry);
    assert_replay(&retry, &late.send(&request).await);
}

/// Without any worker, by the public functions.
async fn what_an_operator_sees_and_settles(stage: &Stage) {
    let held = ask(HOLD, "held", &calling("held"));
    let steps = ask(STEPS, "steps", &stepping_gated("steps", 2));
    strand(stage, &held, "held").await;
    strand(stage, &steps, "steps").await;
    let url = stage.database.url();
    match stage.backend() {
        idem_tests::Backend::Postgres => {
            let mut connection = AsyncPgConnection::establish(url).await.unwrap();
            look_and_settle(stage, &mut connection).await;
        }
        idem_tests::Backend::Mysql => {
            let mut connection = AsyncMysqlConnection::establish(url).await.unwrap();
            look_and_settle(stage, &mut connection).await;
        }
        idem_tests::Backend::Sqlite => {
            let path = url.strip_prefix("sqlite://").unwrap();
            let mut connection = SyncConnectionWrapper::<SqliteConnection>::establish(path)
                .await
                .unwrap();
            let patience = "PRAGMA busy_timeout = 10000";
            connection.batch_execute(patience).await.unwrap();
            look_and_settle(stage, &mut connection).await;
        }
    }
    let app = stage.start().await;
    let answer = app.send(&held).await;
    assert!(answer.is_replay());
    assert_eq!(
        (answer.status, answer.text()),
        (200, r#"{"by":"hand"}"#.into())
    );
    assert_eq!(answer.header("X-By"), Some("hand"));
    // The other one is its clients' affair.
    app.open_gate("steps").await;
    assert_original(&app.send(&steps).await);
}

async fn look_and_settle<C: Backend>(stage: &Stage, connection: &mut C) {
    let alive = idem_runtime::unresolved(connection, 10).await.unwrap();
    assert!(alive.is_empty(), "a lease that is alive is trusted");
    stage.database.expire_leases().await;
    assert_eq!(
        idem_runtime::unresolved(connection, 1).await.unwrap().len(),
        1
    );
    let open = idem_runtime::unresolved(connection, 10).await.unwrap();
    assert_eq!(open.len(), 2);
    let of = |key: &str| open.iter().find(|one| one.key().as_str() == key).unwrap();

    let steps = of("steps");
    assert!(steps.endpoint().contains(STEPS), "{}", steps.endpoint());
    let names: Vec<_> = steps.steps().collect();
    assert_eq!(names, ["charge", "order"]);
    assert_eq!(steps.step::<u64>("charge").unwrap().unwrap(), 1);
    assert!(steps.step::<u64>("notify").is_none());
    assert!(steps.request().is_none(), "nobody asked to keep it");

    let held = of("held");
    assert!(held.endpoint().contains(HOLD), "{}", held.endpoint());
    assert_eq!((held.attempts(), held.steps().count()), (0, 0));
    assert!(held.unresolved_for() >= Duration::from_secs(30));
    let name = "x-by".parse().unwrap();
    let response = RecordedResponse::new(StatusCode::OK)
        .header(name, "hand".parse().unwrap())
        .json(&json!({ "by": "hand" }))
        .unwrap();
    let verdict = Verdict::Completed(response);
    let settled = idem_runtime::settle(connection, held, Verdict::Unknown, RETAIN).await;
    assert!(!settled.unwrap(), "nothing was said");
    assert!(
        idem_runtime::settle(connection, held, verdict, RETAIN)
            .await
            .unwrap()
    );
    // Whoever comes later finds it settled.
    let late = idem_runtime::settle(connection, held, Verdict::Released, RETAIN).await;
    assert!(!late.unwrap());
}
