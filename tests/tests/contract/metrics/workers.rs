//! The workers: their turns, and what they have settled and resumed.

use idem_tests::{Stage, on_all};
use serde_json::json;

use super::{Metrics, counted};
use crate::asking::{ask, gated};
use crate::lease::{BACKGROUND, HOLD, stepping_gated, strand, with, with_worker};

on_all! { what_workers_do_is_counted }

async fn what_workers_do_is_counted(stage: &Stage) {
    let held = ask(
        HOLD,
        "held",
        &with(&gated("held"), &json!({ "call": true })),
    );
    let kept = ask(BACKGROUND, "kept", &stepping_gated("kept", 1));
    strand(stage, &held, "held").await;
    strand(stage, &kept, "kept").await;
    stage.database.expire_leases().await;
    let app = with_worker(stage, "--reconcile").argument("--completion");
    let app = app
        .argument("--maintenance")
        .argument("--metrics")
        .start()
        .await;
    app.open_gate("kept").await;
    counted(
        &app,
        r#"idempotency_reconciled_total{result="completed"}"#,
        1.0,
    )
    .await;
    counted(&app, r#"idempotency_resumed_total{result="done"}"#, 1.0).await;
    for worker in ["maintenance", "reconciler", "completion"] {
        let turns = format!(r#"idempotency_worker_turns_total{{worker="{worker}",result="done"}}"#);
        counted(&app, &turns, 2.0).await;
    }
    let away = "ALTER TABLE idempotency_keys RENAME TO gone";
    stage.database.execute(away).await;
    for worker in ["maintenance", "reconciler", "completion"] {
        let turns =
            format!(r#"idempotency_worker_turns_total{{worker="{worker}",result="failed"}}"#);
        counted(&app, &turns, 1.0).await;
    }
    let back = "ALTER TABLE gone RENAME TO idempotency_keys";
    stage.database.execute(back).await;
    let metrics = Metrics::of(&app).await;
    let counted = |name: &str, result: &str| {
        metrics.value(&format!(r#"idempotency_{name}_total{{result="{result}"}}"#))
    };
    assert_eq!(counted("reconciled", "completed"), 1.0);
    assert_eq!(counted("resumed", "done"), 1.0);
    assert_eq!(counted("resumed", "failed"), 0.0);
}
