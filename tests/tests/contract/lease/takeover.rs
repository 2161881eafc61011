//! A outlives its lease and B takes over: whatever A does late is refused, and its database work is rolled back.

use idem_tests::{Stage, on_all, on_postgres};
use serde_json::json;

use super::{
    RERUN, STEPS, assert_original, assert_steps_done_once, calls, stepping_gated, with,
    without_heartbeat,
};
use crate::asking::{ask, assert_in_flight, assert_replay, gated, nothing_open, settled};

on_all! {
    a_late_record_is_refused,
    a_late_owner_of_an_operation_that_runs,
    a_late_call_is_not_recorded,
    a_late_last_step,
    a_late_failure_frees_nothing,
}

on_postgres! {
    a_late_transaction_is_rolled_back,
    a_process_that_stood_still,
}

async fn a_late_record_is_refused(stage: &Stage) {
    let (late, next) = (stage.start().await, stage.start().await);
    let script = without_heartbeat(&with(&gated("gate"), &json!({ "call": true })));
    let request = ask(RERUN, "k", &script);
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    stage.database.expire_leases().await;
    next.open_gate("gate").await;
    let taken = next.send(&request).await;
    assert_original(&taken);
    late.open_gate("gate").await;
    assert_replay(&taken, &first.await.unwrap());
    for app in [&late, &next] {
        assert_replay(&taken, &app.send(&request).await);
        assert_eq!(app.entered("gate").await, 1);
    }
    assert_eq!(calls(&next, "gate").await, [2]);
    assert_eq!(stage.database.records().await, 1);
}

/// B is still running when A ends: there is no answer yet.
async fn a_late_owner_of_an_operation_that_runs(stage: &Stage) {
    // B has a heartbeat.
    let late = stage.app().argument("--no-heartbeat").start().await;
    let next = stage.start().await;
    let request = ask(RERUN, "k", &gated("gate"));
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    stage.database.expire_leases().await;
    let second = next.send_in_background(&request);
    next.reached("gate", 1).await;
    late.open_gate("gate").await;
    assert_in_flight(&first.await.unwrap());
    assert_in_flight(&late.send(&request).await);
    next.open_gate("gate").await;
    let second = second.await.unwrap();
    assert_original(&second);
    assert_replay(&second, &late.send(&request).await);
}

async fn a_late_call_is_not_recorded(stage: &Stage) {
    late_in(stage, 0).await;
}

async fn a_late_last_step(stage: &Stage) {
    late_in(stage, 2).await;
}

/// PostgreSQL only: with SQLite's one writer, nobody can take over from inside a transaction.
async fn a_late_transaction_is_rolled_back(stage: &Stage) {
    late_in(stage, 1).await;
}

/// A stands at the gate in this step.
async fn late_in(stage: &Stage, step: usize) {
    let (late, next) = (stage.start().await, stage.start().await);
    let script = without_heartbeat(&stepping_gated("gate", step));
    let request = ask(STEPS, "k", &script);
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    stage.database.expire_leases().await;
    next.open_gate("gate").await;
    let taken = next.send(&request).await;
    assert_original(&taken);
    assert_steps_done_once(&next, "gate").await;

    late.open_gate("gate").await;
    assert_replay(&taken, &first.await.unwrap());
    nothing_open(stage).await;
    assert_steps_done_once(&next, "gate").await;
    let names = ["charge", "order", "notify"];
    for (number, name) in names.into_iter().enumerate() {
        let place = format!("gate/{name}");
        let entered = (late.entered(&place).await, next.entered(&place).await);
        // A takes nothing behind the step in which it was refused, B nothing in front of it.
        let expected = (u64::from(number <= step), u64::from(number >= step));
        assert_eq!(entered, expected, "{name}");
    }
    for app in [&late, &next] {
        assert_replay(&taken, &app.send(&request).await);
    }
    assert_eq!(stage.database.records().await, 1);
}

/// A's time runs out, or it panics, when the claim is not its own any more.
async fn a_late_failure_frees_nothing(stage: &Stage) {
    let (late, next) = (stage.start().await, stage.start().await);
    for (path, members) in [
        (STEPS, json!({ "fail": "panic", "fails": 1 })),
        (RERUN, json!({ "fail": "err", "fails": 1 })),
        ("/hasty/script", json!({})),
    ] {
        // B has failed before, in an operation of its own, and does not do so again.
        let warm = with(&json!({ "label": path, "status": 201 }), &members);
        next.send(&ask(path, &format!("{path}-warm"), &warm)).await;

        let script = without_heartbeat(&with(&gated(path), &members));
        let request = ask(path, path, &script);
        let first = late.send_in_background(&request);
        late.reached(path, 1).await;
        stage.database.expire_leases().await;
        next.open_gate(path).await;
        let taken = next.send(&request).await;
        assert_original(&taken);
        late.open_gate(path).await;
        assert_replay(&taken, &first.await.unwrap());
        assert_replay(&taken, &late.send(&request).await);
    }
}

/// SIGSTOP is a host that stands still: its clock, its heartbeat and its handler at once.
async fn a_process_that_stood_still(stage: &Stage) {
    let (late, next) = (stage.start().await, stage.start().await);
    let request = ask(STEPS, "k", &stepping_gated("gate", 1));
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    late.signal("STOP").await;
    next.open_gate("gate").await;
    let taken = settled(&next, &request).await;
    assert_original(&taken);
    late.signal("CONT").await;
    late.open_gate("gate").await;
    let first = first.await.unwrap();
    // It may notice first that it could not renew.
    let is_honest = first.is_replay() || first.code() == "idempotency-store-unavailable";
    assert!(is_honest, "{first:?}");
    nothing_open(stage).await;
    assert_steps_done_once(&next, "gate").await;
    assert_replay(&taken, &late.send(&request).await);
}
