//! The process dies between two attempts, and another one goes on with what was saved.

use std::time::{Duration, SystemTime};

use idem_client::reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use idem_client::{Key, KeyForm, NotSent, Outcome, PendingOperation, Why};

use crate::server::{Server, Turn};
use crate::{builder, client};

#[tokio::test]
async fn another_process_goes_on_with_the_same_key() {
    let server = Server::start(&[Turn::Stall]).await;
    let saved = {
        let client = client();
        let request = client
            .post(server.url())
            .bearer_auth("t0ken")
            .json(&["tea"]);
        let mut operation = request.prepare().unwrap();
        let saved = serde_json::to_string(&operation).unwrap();
        tokio::select! {
            outcome = client.run(&mut operation) => panic!("{outcome:?}"),
            // Here the process dies.
            () = server.has_received(1) => saved,
        }
    };
    assert!(!saved.contains("t0ken"), "{saved}");

    let mut operation: PendingOperation = serde_json::from_str(&saved).unwrap();
    // Other settings are for other operations.
    let other = builder().key_form(KeyForm::Bare).build().unwrap();
    let unsent = other.run(&mut operation).await;
    assert!(matches!(unsent, Err(NotSent::Header(name)) if name == AUTHORIZATION));
    assert_eq!(server.received().len(), 1);

    operation.secret_header(AUTHORIZATION, HeaderValue::from_static("Bearer new"));
    let outcome = other.run(&mut operation).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(server.effects(), 1);
    let [first, second] = &server.received()[..] else {
        panic!("two attempts");
    };
    assert_eq!(first.header("authorization"), Some(&b"Bearer t0ken"[..]));
    assert_eq!(second.header("authorization"), Some(&b"Bearer new"[..]));
    assert_eq!(
        first.header("idempotency-key"),
        second.header("idempotency-key")
    );
    assert_eq!(first.header("content-type"), second.header("content-type"));
    assert_eq!(first.body, second.body);
}

/// Whoever said it: the request, or the client that made the operation. The one that runs it does not know.
#[tokio::test]
async fn what_is_older_than_the_retention_is_not_sent() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let server = Server::start(&[]).await;
    let knows = builder().retention(HOUR).build().unwrap();
    for request in [
        client().post(server.url()).retention(HOUR),
        knows.post(server.url()),
    ] {
        let mut old = serde_json::to_value(request.prepare().unwrap()).unwrap();
        let created = old["created_ms"].as_u64().unwrap();
        old["created_ms"] = (created - 3600 * 1000).into();
        let mut old: PendingOperation = serde_json::from_value(old).unwrap();
        let outcome = client().run(&mut old).await.unwrap();
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!((unknown.why(), unknown.attempts()), (Why::RetentionOver, 0));
    }
    assert_eq!(server.received().len(), 0);
}

/// A key that the caller has kept, without an operation around it.
#[tokio::test]
async fn a_key_of_the_callers_ages_too() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let server = Server::start(&[]).await;
    let saved = serde_json::to_string(&Key::generate()).unwrap();
    for (age, attempts) in [(HOUR / 2, 1), (HOUR, 0)] {
        let key: Key = serde_json::from_str(&saved).unwrap();
        let request = client().post(server.url()).retention(HOUR).key(key);
        let request = request.created(SystemTime::now() - age).may_have_arrived();
        let outcome = request.body("tea").send().await.unwrap();
        assert_eq!(outcome.attempts(), attempts, "{outcome:?}");
    }
    assert_eq!((server.received().len(), server.effects()), (1, 1));
}

#[tokio::test]
async fn a_secret_header_is_sent_and_not_saved() {
    let server = Server::start(&[]).await;
    let name = HeaderName::from_static("x-signature");
    let request = client().post(server.url());
    let request = request.secret_header(name, HeaderValue::from_static("s1gned"));
    let mut operation = request.prepare().unwrap();
    let saved = serde_json::to_string(&operation).unwrap();
    assert!(
        saved.contains("x-signature") && !saved.contains("s1gned"),
        "{saved}"
    );
    let outcome = client().run(&mut operation).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(
        server.received()[0].header("x-signature"),
        Some(&b"s1gned"[..])
    );
}

#[tokio::test]
async fn who_comes_back_does_not_believe_a_refusal_in_front() {
    const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(&[Turn::Say(FORBIDDEN), Turn::Say(FORBIDDEN)]).await;
    let client = client();
    let fresh = client.post(server.url()).body("tea").send().await.unwrap();
    assert!(matches!(fresh, Outcome::Refused(_)), "{fresh:?}");
    let said = client
        .post(server.url())
        .body("tea")
        .may_have_arrived()
        .send()
        .await
        .unwrap();
    let Outcome::Unknown(unknown) = said else {
        panic!("{said:?}");
    };
    assert_eq!(unknown.why(), Why::RefusedLater);
}
