//! The spans of a process: those that the table names, no other, and each inside of what it belongs to.

use std::collections::BTreeSet;

use idem_runtime::telemetry::SPANS;
use idem_tests::outbox::{message, queueing};
use idem_tests::{Stage, on_all, until};
use serde_json::json;

use crate::asking::ask;
use crate::lease::{STEPS, stepping, with};

on_all! { every_span_of_the_table_is_made_and_no_other }

/// Stands in what an application makes up: topic, ordering key, headers.
const SECRET: &str = "geheim";

async fn every_span_of_the_table_is_made_and_no_other(stage: &Stage) {
    let letters = tempfile::tempdir().unwrap();
    let target = format!("file:{}", letters.path().join("letters").display());
    let app = stage.app().environment("RUST_LOG", "idem_runtime=trace");
    let app = app.argument("--spans").argument("--maintenance");
    let app = app.argument("--relay").argument(&target).start().await;
    let secrets = json!({ "order": SECRET, "headers": [["x-note", SECRET]], "quiet": true });
    let message = with(&message(SECRET, json!(SECRET)), &secrets);
    let sent = [
        ask("/outbox/script", "k", &queueing("k", &[message])),
        ask(STEPS, "s", &stepping("s")),
    ];
    for request in &sent {
        assert_eq!(app.send(request).await.status, 201);
    }
    let expected: BTreeSet<_> = SPANS.iter().map(|span| span.name.to_owned()).collect();
    let log = until("each has ended once", async || {
        let log = app.log();
        let found: BTreeSet<_> = log.lines().filter_map(ended).collect();
        let is_over = found == expected && log.contains("idempotency.result=sent");
        assert!(found.is_subset(&expected), "{found:?}");
        is_over.then_some(log)
    })
    .await;
    for inner in ["claim", "lease", "handler", "record"] {
        let inner = format!("}}:idempotency.{inner}:");
        let is_inside =
            |line: &str| line.contains("idempotency.operation{") && line.contains(&inner);
        assert!(log.lines().any(is_inside), "{inner}{log}");
    }
    for attributes in [
        r#"idempotency.worker.turn{idempotency.worker="maintenance" idempotency.result=done}"#,
        r#"}:idempotency.outbox.publish{messaging.operation.type="send" idempotency.attempt=1"#,
        "idempotency.outbox.turn{messaging.batch.message_count=1",
    ] {
        assert!(log.contains(attributes), "{attributes}: {log}");
    }
    assert!(!log.contains(SECRET), "{log}");
}

/// The innermost span of ours in a line that says that it has ended.
fn ended(line: &str) -> Option<String> {
    let (line, _) = line.split_once(": close time.busy")?;
    let names = line.split("idempotency.").skip(1).filter_map(|rest| {
        let end = rest.find(|sign: char| !matches!(sign, 'a'..='z' | '_' | '.'))?;
        // Attributes are followed by an equals sign.
        let is_span = rest[end..].starts_with(['{', ':']);
        is_span.then(|| format!("idempotency.{}", &rest[..end]))
    });
    names.last()
}
