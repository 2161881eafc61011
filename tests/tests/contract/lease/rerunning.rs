//! `unresolved = "rerun"` without steps: a retry runs the handler again, once the lease has run out.

use idem_tests::{Stage, on_all};
use serde_json::json;

use super::{
    HOLD, RERUN, STEPS, assert_failed, assert_original, assert_steps_done_once, assert_unresolved,
    calls, stepping_gated, strand, with,
};
use crate::asking::{
    ask, assert_in_flight, assert_one_original, assert_replay, assert_reused, gated, marking,
    settled, storm,
};

on_all! {
    a_stranded_operation_is_run_again,
    a_stranded_operation_keeps_its_body,
    a_storm_on_a_stranded_operation_runs_it_once,
    a_failed_handler_frees_the_key,
    a_late_handler_frees_the_key,
    stranded_again_and_again,
    stopped_while_a_handler_runs,
}

async fn a_stranded_operation_is_run_again(stage: &Stage) {
    let script = with(&gated("gate"), &json!({ "call": true }));
    let request = ask(RERUN, "k", &script);
    strand(stage, &request, "gate").await;
    let app = stage.start().await;
    app.open_gate("gate").await;
    assert_in_flight(&app.send(&request).await);
    stage.database.expire_leases().await;
    let retry = app.send(&request).await;
    assert_original(&retry);
    assert_replay(&retry, &app.send(&request).await);
    assert_eq!(app.entered("gate").await, 1);
    // Called twice, by one key: once for a provider that de-duplicates.
    assert_eq!(calls(&app, "gate").await, [2]);
}

async fn a_stranded_operation_keeps_its_body(stage: &Stage) {
    let request = ask(RERUN, "k", &gated("gate"));
    strand(stage, &request, "gate").await;
    let app = stage.start().await;
    assert_reused(&app.send(&ask(RERUN, "k", &marking("other"))).await);
    stage.database.expire_leases().await;
    assert_reused(&app.send(&ask(RERUN, "k", &marking("other"))).await);
    assert_eq!(app.entered("other").await, 0);
}

async fn a_storm_on_a_stranded_operation_runs_it_once(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    for round in 0..3 {
        let label = format!("storm{round}");
        let request = ask(RERUN, &label, &gated(&label));
        strand(stage, &request, &label).await;
        left.open_gate(&label).await;
        right.open_gate(&label).await;
        stage.database.expire_leases().await;
        assert_one_original(&storm(&[&left, &right], 20, &request).await);
        let entered = left.entered(&label).await + right.entered(&label).await;
        assert_eq!(entered, 1);
        assert!(settled(&left, &request).await.is_replay());
    }
}

async fn a_failed_handler_frees_the_key(stage: &Stage) {
    let app = stage.start().await;
    for fail in ["err", "panic"] {
        let script =
            json!({ "label": fail, "status": 201, "body": "done", "fail": fail, "fails": 1 });
        let request = ask(RERUN, fail, &script);
        let failed = app.send(&request).await;
        assert_eq!(failed.status, 500, "{fail}");
        if fail == "panic" {
            assert_failed(&failed, 500);
        }
        assert_eq!(stage.database.pending().await, 0, "{fail}");
        let retry = app.send(&request).await;
        assert_original(&retry);
        assert_replay(&retry, &app.send(&request).await);
        assert_eq!(app.entered(fail).await, 2);
    }
    for status in [408, 500, 503] {
        let key = format!("status{status}");
        let script = json!({ "label": key, "status": status });
        assert_eq!(app.send(&ask(RERUN, &key, &script)).await.status, status);
        assert_original(&app.send(&ask(RERUN, &key, &marking("other"))).await);
    }
}

async fn a_late_handler_frees_the_key(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/hasty/script", "k", &gated("gate"));
    assert_failed(&app.send(&request).await, 504);
    assert_eq!(stage.database.pending().await, 0);
    app.open_gate("gate").await;
    assert_original(&app.send(&request).await);
    assert_eq!(app.entered("gate").await, 2);
}

/// Whoever takes over can be stranded as well.
async fn stranded_again_and_again(stage: &Stage) {
    let script = with(&gated("gate"), &json!({ "call": true }));
    let request = ask(RERUN, "k", &script);
    for _ in 0..3 {
        strand(stage, &request, "gate").await;
        stage.database.expire_leases().await;
    }
    let app = stage.start().await;
    app.open_gate("gate").await;
    assert_original(&app.send(&request).await);
    assert_eq!(calls(&app, "gate").await, [4]);
}

/// The server is told to stop and does not wait any longer for the handlers: dropped, and nobody knows how they ended.
async fn stopped_while_a_handler_runs(stage: &Stage) {
    let launch = stage.app().argument("--shutdown-timeout-s").argument("1");
    let app = launch.start().await;
    let requests = [
        ask(HOLD, "hold", &gated("hold")),
        ask(RERUN, "rerun", &gated("rerun")),
        ask(STEPS, "steps", &stepping_gated("steps", 1)),
    ];
    for (request, gate) in requests.iter().zip(["hold", "rerun", "steps"]) {
        let mut connection = app.connect().await;
        connection.write(&request.encode()).await.unwrap();
        app.reached(gate, 1).await;
        connection.reset().unwrap();
    }
    app.terminate().await;
    assert!(app.ended().await.success());
    let app = stage.start().await;
    for gate in ["hold", "rerun", "steps"] {
        app.open_gate(gate).await;
    }
    let [hold, rerun, steps] = &requests;
    assert_unresolved(&settled(&app, hold).await);
    assert_original(&settled(&app, rerun).await);
    assert_original(&settled(&app, steps).await);
    assert_eq!(app.entered("hold").await, 0);
    assert_steps_done_once(&app, "steps").await;
}
