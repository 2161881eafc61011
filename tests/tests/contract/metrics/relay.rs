//! The relay: what it has sent, what has failed and was given up, and what is left.

use idem_tests::outbox::{message, queue, under};
use idem_tests::{Stage, on_all};
use serde_json::json;

use super::{Metrics, counted};

on_all! { what_a_relay_does_is_counted }

async fn what_a_relay_does_is_counted(stage: &Stage) {
    let letters = tempfile::tempdir().unwrap();
    let target = format!("file:{}", letters.path().join("letters").display());
    let app = stage.app().argument("--metrics");
    let app = app.argument("--relay-attempts").argument("3");
    let app = app.argument("--relay").argument(&target).start().await;
    let later = json!({ "topic": "t", "payload": 1, "delay_ms": 3_600_000 });
    let failing = under(message("t", json!(2)), json!([["x-fail", "99"]]));
    queue(&app, "k", &[message("t", json!(0)), later, failing]).await;
    counted(&app, "idempotency_outbox_dead_total", 1.0).await;
    counted(&app, "idempotency_outbox_sent_total", 1.0).await;
    // Measured now and then.
    counted(&app, "idempotency_outbox_backlog", 1.0).await;
    let metrics = Metrics::of(&app).await;
    let found = ["sent_total", "failed_total", "dead_total"]
        .map(|name| metrics.value(&format!("idempotency_outbox_{name}")));
    assert_eq!(found, [1.0, 3.0, 1.0]);
}
