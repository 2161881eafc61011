//! Each outcome, and the parts of a request that are measured with it.

use std::collections::BTreeMap;

use idem_tests::{Request, Stage, in_both_styles};
use serde_json::json;

use super::{Metrics, counted, counts, measured};
use crate::asking::{ask, assert_one_original, gated, marking, storm};
use crate::horizon::{DAY, aged};

in_both_styles! {
    each_outcome_is_counted_once,
    a_refused_request_is_counted_once,
    a_store_that_is_away_is_counted,
    each_duplicate_is_counted_once,
    who_waits_is_counted_once_and_measured,
    what_nobody_has_configured_is_counted,
    a_key_that_is_too_old_is_counted_as_such,
}

const ACCOUNT: &str = "/account/script";

async fn each_outcome_is_counted_once(stage: &Stage) {
    let app = measured(stage).await;
    let request = ask(ACCOUNT, "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    assert_eq!(app.send(&request).await.status, 409);
    assert_eq!(Metrics::of(&app).await.value("idempotency_operations"), 1.0);
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    for _ in 0..2 {
        assert!(app.send(&request).await.is_replay());
    }
    let other = ask(ACCOUNT, "k", &marking("other"));
    assert_eq!(app.send(&other).await.status, 422);
    let sent = [
        (
            json!({ "label": "kept", "status": 404, "fail": "err" }),
            404,
        ),
        (json!({ "label": "free", "status": 429 }), 429),
        (json!({ "label": "down", "status": 503 }), 503),
        (json!({ "label": "panic", "fail": "panic" }), 500),
    ];
    for (script, status) in sent {
        let key = script["label"].as_str().unwrap();
        let answer = app.send(&ask(ACCOUNT, key, &script)).await;
        assert_eq!(answer.status, status, "{script}");
    }
    let metrics = Metrics::of(&app).await;
    let expected = counts([
        ("executed", 2),
        ("in_flight", 1),
        ("replayed", 2),
        ("mismatch", 1),
        ("unrecorded", 1),
        ("failed", 2),
    ]);
    assert_eq!(metrics.requests(ACCOUNT), expected);
    let measured = |name: &str| {
        metrics.value(&format!(
            r#"idempotency_{name}_seconds_count{{endpoint="POST {ACCOUNT}"}}"#
        ))
    };
    // The duplicate in flight was answered without a question.
    assert_eq!(measured("claim"), 8.0);
    assert_eq!(measured("handler"), 5.0);
    assert_eq!(measured("record"), 2.0);
    assert_eq!(measured("replay_age"), 2.0);
    assert_eq!(metrics.value("idempotency_operations"), 0.0);
    assert_eq!(metrics.value("idempotency_operations_limit"), 10_000.0);
}

async fn a_refused_request_is_counted_once(stage: &Stage) {
    let app = stage.app().argument("--metrics");
    let app = app.argument("--max-operations").argument("1").start().await;
    let keyless = Request::post("/optional/script").bearer("acme:one");
    let small = "/small/script";
    let long = json!({ "label": "x".repeat(5000) });
    let sent = [
        (keyless.json(&marking("keyless")), 201),
        (
            Request::post(small)
                .bearer("acme:one")
                .json(&marking("no key")),
            400,
        ),
        (ask(small, "", &marking("empty key")), 400),
        (Request::post(small).key("k").json(&marking("nobody")), 401),
        (ask(small, "long", &long), 413),
        (ask(small, "no script", &json!([])), 400),
        (
            ask(
                small,
                "large",
                &json!({ "label": "large", "body_size": 2000 }),
            ),
            500,
        ),
        (ask("/account/7/script", "item", &marking("item")), 201),
    ];
    for (request, status) in &sent {
        assert_eq!(app.send(request).await.status, *status, "{request:?}");
    }
    let running = app.send_in_background(&ask(small, "held", &gated("gate")));
    app.reached("gate", 1).await;
    assert_eq!(
        app.send(&ask(small, "too-many", &marking("x")))
            .await
            .status,
        503
    );
    app.open_gate("gate").await;
    assert_eq!(running.await.unwrap().status, 201);
    let expected = counts([
        ("POST /optional/script unprotected", 1),
        // The route, and not the path.
        ("POST /account/{id}/script executed", 1),
        ("executed", 1),
        ("rejected", 5),
        ("failed", 1),
        ("unavailable", 1),
    ]);
    assert_eq!(Metrics::of(&app).await.requests(small), expected);
}

async fn a_store_that_is_away_is_counted(stage: &Stage) {
    let app = measured(stage).await;
    let away = "ALTER TABLE idempotency_keys RENAME TO gone";
    stage.database.execute(away).await;
    assert_eq!(
        app.send(&ask(ACCOUNT, "k", &marking("k"))).await.status,
        503
    );
    let back = "ALTER TABLE gone RENAME TO idempotency_keys";
    stage.database.execute(back).await;
    let metrics = Metrics::of(&app).await;
    assert_eq!(metrics.requests(ACCOUNT), counts([("unavailable", 1)]));
    assert_eq!(metrics.value("idempotency_operations"), 0.0);
}

async fn each_duplicate_is_counted_once(stage: &Stage) {
    let (one, two) = (measured(stage).await, measured(stage).await);
    let request = ask(ACCOUNT, "k", &marking("k"));
    let answers = storm(&[&one, &two], 24, &request).await;
    assert_one_original(&answers);
    let mut sum = BTreeMap::<String, u64>::new();
    for app in [&one, &two] {
        for (outcome, count) in Metrics::of(app).await.requests(ACCOUNT) {
            *sum.entry(outcome).or_default() += count;
        }
    }
    let replays = answers.iter().filter(|answer| answer.is_replay()).count() as u64;
    let mut expected = counts([
        ("executed", 1),
        ("replayed", replays),
        ("in_flight", 23 - replays),
    ]);
    expected.retain(|_, count| *count > 0);
    assert_eq!(sum, expected);
}

async fn who_waits_is_counted_once_and_measured(stage: &Stage) {
    const WAIT: &str = "/wait/script";
    let app = measured(stage).await;
    let request = ask(WAIT, "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let waiting = [(); 2].map(|()| app.send_in_background(&request));
    counted(&app, "idempotency_operations", 3.0).await;
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    for answer in waiting {
        assert!(answer.await.unwrap().is_replay());
    }
    let metrics = Metrics::of(&app).await;
    let expected = counts([("executed", 1), ("replayed", 2)]);
    assert_eq!(metrics.requests(WAIT), expected);
    let waited = format!(r#"idempotency_wait_seconds_count{{endpoint="POST {WAIT}"}}"#);
    assert_eq!(metrics.value(&waited), 2.0);
}

async fn what_nobody_has_configured_is_counted(stage: &Stage) {
    const PATH: &str = "/unconfigured/blocking/script";
    let app = measured(stage).await;
    let answer = app.send(&ask(PATH, "k", &marking("k"))).await;
    assert_eq!(answer.code(), "idempotency-misconfigured");
    let metrics = Metrics::of(&app).await;
    assert_eq!(metrics.requests(PATH), counts([("failed", 1)]));
}

async fn a_key_that_is_too_old_is_counted_as_such(stage: &Stage) {
    const DATED: &str = "/dated/script";
    let app = measured(stage).await;
    let key = aged(2 * DAY).to_string();
    assert_eq!(app.send(&ask(DATED, &key, &marking("k"))).await.status, 410);
    let metrics = Metrics::of(&app).await;
    assert_eq!(metrics.requests(DATED), counts([("key_expired", 1)]));
}
