//! What is a key, and which keys are the same.

use idem_tests::{Proxy, Request, Stage, in_both_styles, in_both_styles_on_servers};
use serde_json::json;

use crate::asking::{ask, assert_replay, marking};

in_both_styles! {
    a_key_is_required,
    an_optional_key,
    malformed_keys,
    control_bytes,
    lengths,
    the_quoted_and_the_bare_form_are_one_key,
    keys_are_compared_byte_by_byte,
    refusals_do_not_repeat_the_key,
}

in_both_styles_on_servers! { checked_before_the_database }

/// The script with this value on the key's line.
fn with(value: impl AsRef<[u8]>, label: &str) -> Request {
    Request::post("/account/script")
        .bearer("acme:one")
        .key(value)
        .json(&marking(label))
}

async fn a_key_is_required(stage: &Stage) {
    let app = stage.start().await;
    let without = Request::post("/account/script")
        .bearer("acme:one")
        .json(&marking("none"));
    app.send(&without)
        .await
        .assert_problem(400, "idempotency-key-missing", false);
    // The key comes first: who is asking does not matter yet.
    let nobody = Request::post("/account/script").json(&marking("none"));
    app.send(&nobody)
        .await
        .assert_problem(400, "idempotency-key-missing", false);
    assert_eq!(app.effects("none").await.entered, 0);
}

async fn an_optional_key(stage: &Stage) {
    let app = stage.start().await;
    let without = Request::post("/optional/script")
        .bearer("acme:one")
        .json(&marking("optional"));
    for _ in 0..2 {
        let answer = app.send(&without).await;
        assert_eq!((answer.status, answer.is_replay()), (201, false));
    }
    assert_eq!(stage.database.effects("optional").await, 2);
    assert_eq!(stage.database.records().await, 0);
    let first = app.send(&without.clone().key("k")).await;
    assert_replay(&first, &app.send(&without.key("k")).await);
    assert_eq!(stage.database.effects("optional").await, 3);
    // Not sending one is not the same as sending nonsense.
    let empty = Request::post("/optional/script")
        .bearer("acme:one")
        .key("")
        .json(&marking("optional"));
    app.send(&empty)
        .await
        .assert_problem(400, "idempotency-key-invalid", false);
    let failing = json!({ "label": "failing", "status": 404 });
    let failing = Request::post("/optional/script")
        .bearer("acme:one")
        .json(&failing);
    assert_eq!(app.send(&failing).await.status, 404);
    assert_eq!(stage.database.effects("failing").await, 0);
}

async fn malformed_keys(stage: &Stage) {
    let app = stage.start().await;
    let values: &[&[u8]] = &[
        b"",
        b"   ",
        b"\"\"",
        b"\"  \"",
        b"a b",
        b"a\tb",
        b"\"a\tb\"",
        b"\"open",
        b"open\"",
        b"\"a\"b",
        b"\"k\";p=1",
        b"k;p=1",
        b"k, k2",
        b"\"k\", \"k2\"",
        b"a\\b",
        b"\"a\\b\"",
        b"caf\xe9",
        b"\"caf\xc3\xa9\"",
        b"\xff",
    ];
    for value in values {
        let answer = app.send(&with(value, "malformed")).await;
        assert_eq!(
            answer.code(),
            "idempotency-key-invalid",
            "{:?}: {}",
            String::from_utf8_lossy(value),
            answer.text()
        );
        answer.assert_problem(400, "idempotency-key-invalid", false);
    }
    // Two lines are a list, even if they say the same.
    let twice = with("k", "malformed").key("k");
    app.send(&twice)
        .await
        .assert_problem(400, "idempotency-key-invalid", false);
    assert_eq!(app.effects("malformed").await.entered, 0);
    assert_eq!(stage.database.records().await, 0);
}

/// The server itself refuses these; they never come to us.
async fn control_bytes(stage: &Stage) {
    let app = stage.start().await;
    for byte in [0x00, 0x01, 0x1f, 0x7f] {
        let answer = app.send(&with([b'a', byte, b'b'], "control")).await;
        assert_eq!(answer.status, 400, "{byte:#x}");
    }
    assert_eq!(app.effects("control").await.entered, 0);
}

async fn lengths(stage: &Stage) {
    let app = stage.start().await;
    let longest = "k".repeat(255);
    let first = app.send(&with(&longest, "long")).await;
    assert_eq!(first.status, 201);
    // The limit counts the content, not the quotes.
    assert_replay(
        &first,
        &app.send(&with(format!("\"{longest}\""), "long")).await,
    );
    let escaped = format!("\"{}\"", "\\\"".repeat(255));
    assert_eq!(app.send(&with(escaped, "escaped")).await.status, 201);
    for length in [256, 8192] {
        let over = "k".repeat(length);
        app.send(&with(&over, "over"))
            .await
            .assert_problem(400, "idempotency-key-invalid", false);
        app.send(&with(format!("\"{over}\""), "over"))
            .await
            .assert_problem(400, "idempotency-key-invalid", false);
    }
    assert_eq!(app.effects("over").await.entered, 0);
}

async fn the_quoted_and_the_bare_form_are_one_key(stage: &Stage) {
    let app = stage.start().await;
    let first = app
        .send(&with("8e03978e-40d5-43e8-bc93-6894a57f9324", "forms"))
        .await;
    assert_eq!(first.status, 201);
    for value in [
        "\"8e03978e-40d5-43e8-bc93-6894a57f9324\"",
        "  \"8e03978e-40d5-43e8-bc93-6894a57f9324\"  ",
        "\t8e03978e-40d5-43e8-bc93-6894a57f9324 ",
    ] {
        assert_replay(&first, &app.send(&with(value, "forms")).await);
    }
    assert_eq!(stage.database.effects("forms").await, 1);
}

async fn keys_are_compared_byte_by_byte(stage: &Stage) {
    let app = stage.start().await;
    let keys = [
        "Abc",
        "abc",
        "ABC",
        "\"abc \"",
        "\" abc\"",
        "\"a b c\"",
        "abc%",
        "abc_",
        "0",
        "00",
        "0.0",
        "1e0",
        "1",
    ];
    for key in keys {
        let answer = app.send(&with(key, "exact")).await;
        assert_eq!((answer.status, answer.is_replay()), (201, false), "{key}");
    }
    let count = i64::try_from(keys.len()).unwrap();
    assert_eq!(stage.database.effects("exact").await, count);
    assert_eq!(stage.database.records().await, count);
}

async fn refusals_do_not_repeat_the_key(stage: &Stage) {
    let app = stage.start().await;
    assert_eq!(app.send(&with("geheim", "one")).await.status, 201);
    let refused = [
        app.send(&with("geheim", "other")).await,
        app.send(&with("geheim;p=1", "other")).await,
        app.send(&with("geheim".repeat(100), "other")).await,
    ];
    for answer in refused {
        assert!(answer.status >= 400);
        assert!(!answer.text().contains("geheim"), "{}", answer.text());
    }
}

/// A bad key is refused although nothing can be looked up.
async fn checked_before_the_database(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let app = stage
        .app()
        .database_url(proxy.url())
        .argument("--pool-timeout-ms")
        .argument("300")
        .start()
        .await;
    proxy.take_down().await;
    app.send(&with("k".repeat(8192), "down"))
        .await
        .assert_problem(400, "idempotency-key-invalid", false);
    app.send(&ask("/account/script", "", &marking("down")))
        .await
        .assert_problem(400, "idempotency-key-invalid", false);
    app.send(&with("good", "down")).await.assert_problem(
        503,
        "idempotency-store-unavailable",
        true,
    );
}
