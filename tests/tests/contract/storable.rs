//! Limits: bodies that are too large to take, and responses that are too large to store.

use idem_tests::{Request, Stage, in_both_styles};
use serde_json::json;

use crate::asking::{ask, assert_replay, assert_runs, marking};

/// Of `/small/script`.
const RESPONSE_LIMIT: usize = 1024;
const BODY_LIMIT: usize = 4096;

in_both_styles! {
    a_response_at_the_limit_is_stored,
    a_response_over_the_limit_runs_never_twice,
    an_endless_response,
    a_body_over_the_limit,
    a_body_of_two_megabytes,
}

async fn a_response_at_the_limit_is_stored(stage: &Stage) {
    let app = stage.start().await;
    for fail in [json!(null), json!("stream"), json!("sized")] {
        let script = json!({ "label": "limit", "fail": fail, "body": "x".repeat(RESPONSE_LIMIT) });
        let request = ask(
            "/small/script",
            &format!("k{fail}").replace('"', ""),
            &script,
        );
        let first = app.send(&request).await;
        assert_eq!((first.status, first.body.len()), (200, RESPONSE_LIMIT));
        assert_replay(&first, &app.send(&request).await);
    }
}

async fn a_response_over_the_limit_runs_never_twice(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for fail in [json!(null), json!("stream"), json!("sized")] {
        let script =
            json!({ "label": "over", "fail": fail, "body": "x".repeat(RESPONSE_LIMIT + 1) });
        let request = ask(
            "/small/script",
            &format!("k{fail}").replace('"', ""),
            &script,
        );
        for _ in 0..2 {
            app.send(&request)
                .await
                .assert_problem(500, "response-not-storable", false);
        }
    }
    assert_eq!(stage.database.effects("over").await, 0);
    assert_eq!(stage.database.records().await, 0);
    assert_eq!(stage.database.open_transactions().await, 0);
}

async fn an_endless_response(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let script = json!({ "label": "endless", "fail": "endless" });
    app.send(&ask("/account/script", "k", &script))
        .await
        .assert_problem(500, "response-not-storable", false);
    assert_eq!(stage.database.effects("endless").await, 0);
    assert_runs(&app, "k2", "next").await;
}

async fn a_body_over_the_limit(stage: &Stage) {
    let app = stage.start().await;
    let typed = || {
        Request::post("/small/script")
            .bearer("acme:one")
            .key("k")
            .header("Content-Type", "application/json")
    };
    let large = vec![b' '; BODY_LIMIT + 1];
    app.send(&typed().body(large.clone()))
        .await
        .assert_problem(413, "request-too-large", false);
    app.send(&typed().chunked(large.chunks(1000).map(<[u8]>::to_vec)))
        .await
        .assert_problem(413, "request-too-large", false);
    // The key is unused, and a body at the limit is taken.
    let mut script = marking("fits").to_string().into_bytes();
    script.resize(BODY_LIMIT, b' ');
    assert_eq!(app.send(&typed().body(script)).await.status, 201);
    assert_eq!(stage.database.records().await, 1);
}

/// The default limit.
async fn a_body_of_two_megabytes(stage: &Stage) {
    let app = stage.start().await;
    let request = |key: &str, size: usize| {
        Request::post("/bytes")
            .bearer("acme:one")
            .key(key)
            .typed("application/octet-stream", vec![0; size])
    };
    app.send(&request("over", (2 << 20) + 1))
        .await
        .assert_problem(413, "request-too-large", false);
    let first = app.send(&request("at", 2 << 20)).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_replay(&first, &app.send(&request("at", 2 << 20)).await);
}
