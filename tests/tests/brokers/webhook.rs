//! What the publisher for webhooks sends, and what it makes of the answers.

use std::time::{Duration, Instant, SystemTime};

use actix_web::http::header::HttpDate;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use idem_runtime::outbox::{Message, Publisher, WebhookPublisher};
use idem_runtime::testing::outbox_message;
use sha2::Sha256;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::hook::{Got, Hook, Reaction, answer};
use crate::messages::{chain, outgoing, permanent, plain, temporary};

const SECRETS: [&[u8; 24]; 2] = [b"0123456789abcdefghijklmn", b"nmlkjihgfedcba9876543210"];

fn publisher(hook: &Hook) -> WebhookPublisher {
    WebhookPublisher::new(&hook.url()).expect("a publisher")
}

/// Written down as the specification has it.
fn signature(secret: &[u8], got: &Got) -> String {
    let header = |name| got.header(name).unwrap();
    let head = format!("{}.{}.", header("webhook-id"), header("webhook-timestamp"));
    let signed = [head.as_bytes(), &got.body].concat();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(&signed);
    let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
    format!("v1,{signature}")
}

#[tokio::test]
async fn what_arrives_is_what_was_queued() {
    let hook = Hook::start(answer(201, "")).await;
    let message = Message::bytes("orders.created", vec![0, 159, 146, 150])
        .content_type("application/octet-stream")
        .header("Trace", "a b")
        .header("Greeting", "grüße");
    let id = Uuid::new_v4();

    let publisher = publisher(&hook);
    publisher
        .publish(&outbox_message(id, message))
        .await
        .unwrap();
    publisher.publish(&plain("again")).await.unwrap();

    let got = &hook.got()[0];
    assert_eq!(got.line, "POST /hooks?a=b");
    assert_eq!(got.body, [0, 159, 146, 150]);
    let header = |name: &str| got.header(name);
    assert_eq!(header("idempotency-key"), Some(format!("\"{id}\"")));
    assert_eq!(header("webhook-id"), Some(id.to_string()));
    assert_eq!(header("content-type").unwrap(), "application/octet-stream");
    assert_eq!(header("trace").unwrap(), "a b");
    assert_eq!(header("greeting").unwrap(), "grüße");
    assert_eq!(header("webhook-timestamp"), None);
    assert_eq!(header("webhook-signature"), None);
    assert_eq!(hook.got()[1].connection, 0, "a connection is used again");
}

#[tokio::test]
async fn it_is_signed_with_each_secret() {
    let hook = Hook::start(answer(204, "")).await;
    let mut publisher = publisher(&hook);
    for secret in SECRETS {
        let secret = format!("whsec_{}", BASE64_STANDARD.encode(secret));
        publisher = publisher.secret(&secret).unwrap();
    }
    let forged = Message::bytes("orders", r#"{"a":1}"#)
        .header("Webhook-Id", "another")
        .header("Webhook-Timestamp", "1")
        .header("Webhook-Signature", "v1,forged")
        .header("Idempotency-Key", "another");
    publisher.publish(&outgoing(forged)).await.unwrap();

    let got = &hook.got()[0];
    let expected = SECRETS.map(|secret| signature(secret, got)).join(" ");
    assert_eq!(got.header("webhook-signature"), Some(expected));
    let timestamp: u64 = got.header("webhook-timestamp").unwrap().parse().unwrap();
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now.abs_diff(timestamp) < 10, "{timestamp}");
    assert_ne!(got.header("idempotency-key").unwrap(), "another");
}

#[tokio::test]
async fn a_status_says_whether_to_try_again() {
    let hook = Hook::start(answer(200, "")).await;
    let publisher = publisher(&hook);
    for status in [200, 201, 202, 204, 299] {
        hook.react(answer(status, ""));
        publisher.publish(&plain("orders")).await.unwrap();
    }
    for status in [408, 409, 425, 429, 500, 501, 502, 503, 504, 599] {
        hook.react(answer(status, ""));
        let error = temporary(&publisher, &plain("orders")).await;
        assert_eq!(error.pause(), None);
        assert!(chain(&error).contains(&status.to_string()));
    }
    let others = [
        300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 410, 413, 415, 422,
    ];
    for status in others {
        hook.react(answer(status, ""));
        permanent(&publisher, &plain("orders")).await;
    }
}

#[tokio::test]
async fn it_waits_as_long_as_it_is_told_to() {
    let hook = Hook::start(answer(200, "")).await;
    let publisher = publisher(&hook);
    let pause = async |status, value: &str| {
        hook.react(answer(status, &format!("retry-after: {value}\r\n")));
        temporary(&publisher, &plain("orders")).await.pause()
    };
    assert_eq!(pause(429, "7").await, Some(Duration::from_secs(7)));
    assert_eq!(pause(503, "120").await, Some(Duration::from_secs(120)));
    assert_eq!(pause(503, "soon").await, None);
    assert_eq!(pause(503, "-1").await, None);
    assert_eq!(pause(503, "Sun, 06 Nov 1994 08:49:37 GMT").await, None);
    let date = HttpDate::from(SystemTime::now() + Duration::from_secs(60));
    let until = pause(503, &date.to_string()).await.unwrap();
    let seconds = until.as_secs_f64();
    assert!((50.0..=60.0).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Hook::start(answer(200, "")).await;
    let location = format!("location: {}\r\n", elsewhere.url());
    let hook = Hook::start(answer(307, &location)).await;
    permanent(&publisher(&hook), &plain("orders")).await;
    assert!(elsewhere.got().is_empty());
}

#[tokio::test]
async fn silence_is_given_up() {
    let hook = Hook::start(Reaction::Silence).await;
    let publisher = publisher(&hook).timeout(Duration::from_millis(300));
    let start = Instant::now();
    temporary(&publisher, &plain("orders")).await;
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_status_counts_although_its_body_does_not_come() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    let hook = Hook::start(Reaction::Answer(half.into())).await;
    let start = Instant::now();
    publisher(&hook).publish(&plain("orders")).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(3));
}

/// The rest of an answer is read within the time of the attempt, or not at all.
#[tokio::test]
async fn the_body_of_an_answer_takes_no_longer_than_the_attempt_may() {
    let half = "HTTP/1.1 503 Busy\r\ncontent-length: 100\r\n\r\nhalf";
    let hook = Hook::start(Reaction::Answer(half.into())).await;
    let publisher = publisher(&hook).timeout(Duration::from_millis(200));
    let start = Instant::now();
    let error = temporary(&publisher, &plain("orders")).await;
    let took = start.elapsed();
    assert!(took < Duration::from_millis(900), "{took:?}");
    assert!(chain(&error).contains("503"), "{}", chain(&error));
}

#[tokio::test]
async fn a_connection_that_breaks_is_no_answer() {
    let hook = Hook::start(Reaction::Reset).await;
    temporary(&publisher(&hook), &plain("orders")).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let nobody = WebhookPublisher::new(&format!("http://user:hunter2@{address}/hunter2")).unwrap();
    let error = temporary(&nobody, &plain("orders")).await;
    assert!(!chain(&error).contains("hunter2"), "{}", chain(&error));
    assert!(!format!("{nobody:?}").contains("hunter2"));
}

#[tokio::test]
async fn what_http_cannot_carry_is_wrong_for_good() {
    let hook = Hook::start(answer(200, "")).await;
    let publisher = publisher(&hook);
    let headers = [
        ("Trace", "a\r\nb: c"),
        ("a b", "c"),
        ("Content-Length", "1"),
        ("Host", "x"),
    ];
    for (name, value) in headers {
        let message = Message::bytes("orders", "").header(name, value);
        permanent(&publisher, &outgoing(message)).await;
    }
    assert!(hook.got().is_empty());
}

#[test]
fn what_is_wrong_with_the_settings_is_said_at_once() {
    for url in ["", "/hooks", "ftp://hunter2", "amqp://localhost"] {
        let error = WebhookPublisher::new(url).unwrap_err();
        assert!(!chain(&error).contains("hunter2"));
    }
    let publisher = WebhookPublisher::new("http://localhost").unwrap();
    let error = publisher.secret("whsec_hunter2").unwrap_err();
    assert!(!chain(&error).contains("hunter2"));
}
