//! Lease mode: its outcomes, claims that are taken over or lost, and the heartbeat.

use idem_tests::{Request, Stage, on_all};
use serde_json::json;

use super::{Metrics, counted, counts, measured};
use crate::asking::{ask, gated, marking};
use crate::lease::{HOLD, RERUN, STEPS, stepping_with, strand, with};

on_all! {
    each_outcome_of_lease_mode_is_counted_once,
    a_claim_that_is_taken_over_is_counted_on_both_sides,
    a_heartbeat_is_counted_and_so_is_its_failure,
    a_step_that_finds_no_store_is_unavailable,
    after_a_408_of_lease_mode_nobody_knows,
}

async fn each_outcome_of_lease_mode_is_counted_once(stage: &Stage) {
    const ACCEPT: &str = "/accept/script";
    let app = measured(stage).await;
    let request = ask(ACCEPT, "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    assert_eq!(app.send(&request).await.status, 202);
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    assert!(app.send(&request).await.is_replay());
    let sent = [
        (ask(ACCEPT, "k", &marking("other")), 422),
        (
            ask(ACCEPT, "free", &json!({ "label": "free", "status": 429 })),
            429,
        ),
        (
            ask(ACCEPT, "down", &json!({ "label": "down", "status": 503 })),
            503,
        ),
        (
            ask(
                ACCEPT,
                "panic",
                &json!({ "label": "panic", "fail": "panic" }),
            ),
            500,
        ),
        (
            Request::post(ACCEPT).bearer("acme:one").json(&marking("x")),
            400,
        ),
    ];
    for (request, status) in &sent {
        assert_eq!(app.send(request).await.status, *status, "{request:?}");
    }
    let held = ask(HOLD, "held", &gated("held"));
    strand(stage, &held, "held").await;
    stage.database.expire_leases().await;
    assert_eq!(app.send(&held).await.code(), "idempotency-unresolved");
    let metrics = Metrics::of(&app).await;
    let expected = counts([
        ("executed", 1),
        ("in_flight", 1),
        ("replayed", 1),
        ("mismatch", 1),
        ("unrecorded", 1),
        ("failed", 2),
        ("rejected", 1),
        ("POST /hold/script unresolved", 1),
    ]);
    assert_eq!(metrics.requests(ACCEPT), expected);
    let measured = |name: &str| {
        metrics.value(&format!(
            r#"idempotency_{name}_seconds_count{{endpoint="POST {ACCEPT}"}}"#
        ))
    };
    assert_eq!(
        (measured("lease"), measured("handler"), measured("record")),
        (4.0, 4.0, 1.0)
    );
}

async fn a_claim_that_is_taken_over_is_counted_on_both_sides(stage: &Stage) {
    let (late, other) = (measured(stage).await, measured(stage).await);
    let script = with(&gated("gate"), &json!({ "heartbeat": false }));
    let request = ask(RERUN, "k", &script);
    let first = late.send_in_background(&request);
    late.reached("gate", 1).await;
    stage.database.expire_leases().await;
    other.open_gate("gate").await;
    assert_eq!(other.send(&request).await.status, 201);
    late.open_gate("gate").await;
    assert!(first.await.unwrap().is_replay());
    let (late, other) = (Metrics::of(&late).await, Metrics::of(&other).await);
    assert_eq!(late.requests(RERUN), counts([("replayed", 1)]));
    assert_eq!(other.requests(RERUN), counts([("executed", 1)]));
    let lost = r#"idempotency_leases_lost_total{endpoint="POST /rerun/script",reason="taken"}"#;
    assert_eq!((late.value(lost), other.value(lost)), (1.0, 0.0));
    let taken = r#"idempotency_lease_takeovers_total{endpoint="POST /rerun/script"}"#;
    assert_eq!((late.value(taken), other.value(taken)), (0.0, 1.0));
}

async fn a_heartbeat_is_counted_and_so_is_its_failure(stage: &Stage) {
    let app = measured(stage).await;
    let script = stepping_with("gate", 0, &json!({ "gate": "gate" }));
    let request = ask(STEPS, "k", &script);
    let running = app.send_in_background(&request);
    app.reached("gate", 1).await;
    counted(
        &app,
        r#"idempotency_heartbeats_total{result="renewed"}"#,
        1.0,
    )
    .await;
    let away = "ALTER TABLE idempotency_keys RENAME TO gone";
    stage.database.execute(away).await;
    assert_eq!(running.await.unwrap().status, 503);
    let back = "ALTER TABLE gone RENAME TO idempotency_keys";
    stage.database.execute(back).await;
    let metrics = Metrics::of(&app).await;
    let beats = |result: &str| {
        metrics.value(&format!(
            r#"idempotency_heartbeats_total{{result="{result}"}}"#
        ))
    };
    assert!(beats("failed") >= 1.0);
    assert_eq!(beats("given_up"), 1.0);
    let lost = r#"idempotency_leases_lost_total{endpoint="POST /steps/script",reason="unrenewed"}"#;
    assert_eq!(metrics.value(lost), 1.0);
    assert_eq!(metrics.requests(STEPS), counts([("unavailable", 1)]));
}

async fn a_step_that_finds_no_store_is_unavailable(stage: &Stage) {
    let app = measured(stage).await;
    let script = stepping_with("gate", 0, &json!({ "gate": "gate" }));
    let running = app.send_in_background(&ask(STEPS, "k", &script));
    app.reached("gate", 1).await;
    // Its lease is renewed all the same.
    let away = "ALTER TABLE idempotency_keys RENAME COLUMN steps TO gone";
    stage.database.execute(away).await;
    app.open_gate("gate").await;
    let answer = running.await.unwrap();
    assert_eq!(answer.code(), "idempotency-store-unavailable");
    let metrics = Metrics::of(&app).await;
    let lost = r#"idempotency_leases_lost_total{endpoint="POST /steps/script",reason="unrenewed"}"#;
    assert_eq!(metrics.value(lost), 0.0);
    assert_eq!(metrics.requests(STEPS), counts([("unavailable", 1)]));
}

/// In a transaction its effects are gone, and it is one more refusal.
async fn after_a_408_of_lease_mode_nobody_knows(stage: &Stage) {
    let app = measured(stage).await;
    let late = json!({ "label": "late", "status": 408 });
    for (path, key) in [(HOLD, "leased"), ("/account/script", "undone")] {
        assert_eq!(app.send(&ask(path, key, &late)).await.status, 408);
    }
    let expected = counts([("failed", 1), ("POST /account/script unrecorded", 1)]);
    assert_eq!(Metrics::of(&app).await.requests(HOLD), expected);
}
