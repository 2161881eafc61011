//! A replay is the first answer again, byte for byte.

use std::io::Read;

use flate2::read::GzDecoder;
use idem_tests::{Response, Stage, in_both_styles};
use serde_json::{Value, json};

use crate::asking::{ask, assert_replay};

in_both_styles! {
    headers_are_bytes_in_order,
    some_headers_are_said_only_once,
    every_byte,
    odd_bodies,
    answers_without_a_body,
    a_stream_is_stored_whole,
    errors_that_carry_a_response,
    with_a_compressing_middleware,
    in_another_process,
    with_deadpool,
}

/// Sends the script twice and compares.
async fn twice(stage: &Stage, script: &Value) -> (Response, Response) {
    let app = stage.start().await;
    let request = ask("/account/script", "k", script);
    let first = app.send(&request).await;
    let second = app.send(&request).await;
    assert_replay(&first, &second);
    (first, second)
}

fn rich() -> Value {
    json!({
        "label": "rich", "status": 201, "body": { "hex": "00ff7b0d0a" },
        "headers": [
            ["Location", "/orders/1"],
            ["ETag", "\"v1\""],
            ["Link", "<a>; rel=next"],
            ["Content-Type", "application/vnd.acme+json; charset=utf-8"],
            ["Link", "<b>; rel=prev"],
            ["X-Raw", { "hex": "636166e9" }],
            ["X-Empty", ""],
            ["Vary", "Accept"],
            ["Cache-Control", "no-store"],
        ],
    })
}

async fn headers_are_bytes_in_order(stage: &Stage) {
    let (first, second) = twice(stage, &rich()).await;
    for answer in [first, second] {
        assert_eq!(
            answer.all("Link"),
            [b"<a>; rel=next".as_slice(), b"<b>; rel=prev"]
        );
        assert_eq!(answer.all("X-Raw"), [b"caf\xe9"]);
        assert_eq!(answer.header("X-Empty"), Some(""));
        assert_eq!(answer.header("Location"), Some("/orders/1"));
        assert_eq!(answer.body, b"\x00\xff{\r\n");
    }
}

async fn some_headers_are_said_only_once(stage: &Stage) {
    let app = stage.start().await;
    let script = json!({
        "label": "once", "status": 200,
        "headers": [
            ["Set-Cookie", "session=1"], ["Set-Cookie", "theme=dark"], ["WWW-Authenticate", "Basic"],
            ["Authentication-Info", "nextnonce=x"], ["Date", "Thu, 01 Jan 1970 00:00:00 GMT"],
            ["Keep-Alive", "timeout=5"], ["Proxy-Authenticate", "Basic"], ["X-Stays", "yes"],
        ],
    });
    let request = ask("/account/script", "k", &script);
    let first = app.send(&request).await;
    assert_eq!(first.all("Set-Cookie").len(), 2);
    assert_eq!(first.header("WWW-Authenticate"), Some("Basic"));
    let second = app.send(&request).await;
    assert!(second.is_replay());
    for name in [
        "Set-Cookie",
        "WWW-Authenticate",
        "Authentication-Info",
        "Keep-Alive",
    ] {
        assert_eq!(second.header(name), None, "{name}");
    }
    assert_ne!(second.header("Date"), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
    assert_eq!(second.header("X-Stays"), Some("yes"));
}

async fn every_byte(stage: &Stage) {
    let all: Vec<u8> = (0..=255).collect();
    let (first, _) = twice(
        stage,
        &json!({ "label": "bytes", "body": { "hex": hex::encode(&all) } }),
    )
    .await;
    assert_eq!(first.body, all);
}

async fn odd_bodies(stage: &Stage) {
    let app = stage.start().await;
    let bodies = [
        "0",
        "false",
        "\"\"",
        "null",
        "[]",
        "{ \"b\" :1,\n\t\"a\":  2.0e1 }\n",
        "'; DROP TABLE effects; --",
        "\\x00",
    ];
    for (index, body) in bodies.into_iter().enumerate() {
        let script = json!({ "label": "odd", "body": body, "headers": [["Content-Type", "application/json"]] });
        let request = ask("/account/script", &format!("k{index}"), &script);
        let first = app.send(&request).await;
        assert_eq!(first.text(), body);
        assert_replay(&first, &app.send(&request).await);
    }
}

async fn answers_without_a_body(stage: &Stage) {
    let app = stage.start().await;
    for status in [200, 204, 205, 304] {
        let script = json!({ "label": "bare", "status": status, "headers": [["ETag", "\"v1\""]] });
        let request = ask("/account/script", &format!("k{status}"), &script);
        let first = app.send(&request).await;
        assert_eq!((first.status, first.body.len()), (status, 0));
        // Exactly as scripted: nobody adds a content type.
        assert_eq!(first.header("Content-Type"), None);
        assert_replay(&first, &app.send(&request).await);
    }
}

async fn a_stream_is_stored_whole(stage: &Stage) {
    let body = "0123456789".repeat(5000);
    for fail in ["stream", "sized"] {
        let app = stage.start().await;
        let request = ask(
            "/account/script",
            fail,
            &json!({ "label": fail, "fail": fail, "body": body }),
        );
        let first = app.send(&request).await;
        assert_eq!((first.status, first.text() == body), (200, true), "{fail}");
        assert_replay(&first, &app.send(&request).await);
        assert_eq!(stage.database.effects(fail).await, 1);
    }
}

async fn errors_that_carry_a_response(stage: &Stage) {
    let script = json!({
        "label": "error", "fail": "err", "status": 409, "body": "{\"error\":\"sold out\"}",
        "headers": [["Content-Type", "application/json"], ["X-Reason", "stock"]],
    });
    let (first, _) = twice(stage, &script).await;
    assert_eq!(
        (first.status, first.header("X-Reason")),
        (409, Some("stock"))
    );
    assert_eq!(stage.database.effects("error").await, 0);
}

async fn with_a_compressing_middleware(stage: &Stage) {
    let app = stage.start().await;
    let body = "a text that is worth it. ".repeat(100);
    let script =
        json!({ "label": "packed", "body": body, "headers": [["Content-Type", "text/plain"]] });
    let plain = ask("/compressed/script", "k", &script);
    let gzip = plain.clone().header("Accept-Encoding", "gzip");
    let first = app.send(&gzip).await;
    assert_eq!(first.header("Content-Encoding"), Some("gzip"));
    assert_eq!(inflate(&first.body), body);
    let identity = app.send(&plain.header("Accept-Encoding", "identity")).await;
    assert!(identity.is_replay());
    assert_eq!(
        (identity.header("Content-Encoding"), identity.text() == body),
        (None, true)
    );
    let again = app.send(&gzip).await;
    assert!(again.is_replay());
    assert_eq!(again.header("Content-Encoding"), Some("gzip"));
    assert_eq!(inflate(&again.body), body);
    assert_eq!(stage.database.effects("packed").await, 1);
}

fn inflate(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

async fn in_another_process(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let request = ask("/account/script", "k", &rich());
    let first = left.send(&request).await;
    assert_replay(&first, &right.send(&request).await);
    left.kill().await;
    let restarted = stage.start().await;
    assert_replay(&first, &restarted.send(&request).await);
}

async fn with_deadpool(stage: &Stage) {
    let app = stage.app().argument("--deadpool").start().await;
    let request = ask("/account/script", "k", &rich());
    let first = app.send(&request).await;
    assert_eq!(first.status, 201);
    assert_replay(&first, &app.send(&request).await);
    assert_eq!(stage.database.effects("rich").await, 1);
}
