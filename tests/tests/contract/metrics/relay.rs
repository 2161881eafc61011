//! The relay: what it has sent, what has failed and was given up, and what is left.

use idem_tests::outbox::{message, queue, under};
use idem_tests::{Stage, on_all};
use serde_json::json;

use super::{Metrics, counted};

on_all! { what_a_relay_does_is_counted }

async fn what_a_relay_does_is_counted(stage: &Stage) {
    let later = json!({ "topic": "t", "payload": 1, "delay_ms": 3_600_000 });
    let failing = under(message("t", json!(2)), json!([["X-Fail", "99"]]));
    let messages = [message("t", json!(0)), later, failing];
    queue(&stage.start().await, "k", &messages).await;
    let earlier = stage.backend().ago(600);
    let set_back = format!("UPDATE idempotency_outbox SET enqueued_at = {earlier}");
    stage.database.execute(&set_back).await;

    let letters = tempfile::tempdir().unwrap();
    let target = format!("file:{}", letters.path().join("letters").display());
    let relay = stage.app().argument("--metrics");
    let relay = relay.argument("--relay-attempts").argument("3");
    let relay = relay.argument("--relay").argument(&target).start().await;
    // Measured when it starts, and now and then.
    counted(&relay, "idempotency_outbox_backlog", 1.0).await;
    counted(&relay, "idempotency_outbox_oldest_seconds", 600.0).await;
    counted(&relay, "idempotency_outbox_dead_total", 1.0).await;
    counted(&relay, "idempotency_outbox_sent_total", 1.0).await;
    let metrics = Metrics::of(&relay).await;
    let found = ["sent", "failed", "dead"]
        .map(|name| metrics.value(&format!("idempotency_outbox_{name}_total")));
    assert_eq!(found, [1.0, 3.0, 1.0]);
}
