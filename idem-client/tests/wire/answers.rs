//! What the server says decides whether it is asked again.

use std::time::Duration;

use idem_client::reqwest::Method;
use idem_client::reqwest::header::{HeaderName, HeaderValue};
use idem_client::{Key, NotDone, Outcome, Why};

use crate::server::{Server, Turn};
use crate::{builder, client};

const UNAVAILABLE: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n";
const TOO_MANY: &str = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n";
const IN_FLIGHT: &str = "HTTP/1.1 409 Conflict\r\ncontent-type: application/problem+json\r\ncontent-length: 53\r\n\r\n\
                         {\"code\":\"idempotency-in-flight\",\"retryable\":true    }";
const OUT_OF_STOCK: &str = "HTTP/1.1 409 Conflict\r\ncontent-length: 12\r\n\r\nout of stock";
const UNAUTHORIZED: &str = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
const BROKEN: &str = "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/problem+json\r\n\
                      content-length: 19\r\n\r\n{\"retryable\":false}";
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test]
async fn retry_after_is_honoured() {
    let server = Server::start(&[Turn::Say(UNAVAILABLE)]).await;
    let outcome = client()
        .post(server.url())
        .body("tea")
        .send()
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    let received = server.received();
    assert!(received[1].at - received[0].at >= Duration::from_secs(1));
}

/// The draft, section 2.7: what still runs is answered 409, and need not say more.
#[tokio::test]
async fn a_conflict_with_an_attempt_that_still_runs_is_no_refusal() {
    const CONFLICT: &str = "HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(&[Turn::CloseBehind, Turn::Say(CONFLICT)]).await;
    let outcome = client()
        .post(server.url())
        .body("tea")
        .send()
        .await
        .unwrap();
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((unknown.why(), unknown.attempts()), (Why::RefusedLater, 2));
    assert!(unknown.may_be_done() && unknown.why().may_go_on());
    let outcome = client().run(&mut unknown.into_operation()).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(server.effects(), 1);
}

#[tokio::test]
async fn not_now_is_asked_again() {
    let turns = [TOO_MANY, IN_FLIGHT, IN_FLIGHT].map(Turn::Say);
    let server = Server::start(&turns).await;
    let outcome = client()
        .post(server.url())
        .body("tea")
        .send()
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!((outcome.attempts(), server.effects()), (4, 1));
}

#[tokio::test]
async fn no_is_taken_for_an_answer() {
    for (says, status) in [(OUT_OF_STOCK, 409), (UNAUTHORIZED, 401)] {
        let server = Server::start(&[Turn::Say(says)]).await;
        let outcome = client()
            .post(server.url())
            .body("tea")
            .send()
            .await
            .unwrap();
        let Err(NotDone::Refused(refused)) = outcome.done() else {
            panic!("{status}");
        };
        assert_eq!(refused.answer().status(), status);
        assert_eq!((server.received().len(), server.effects()), (1, 0));
        // And with the same key it goes on from here.
        let mut operation = refused.into_operation();
        let outcome = client().run(&mut operation).await.unwrap();
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        let received = server.received();
        assert_eq!(
            received[0].header("idempotency-key"),
            received[1].header("idempotency-key")
        );
    }
}

#[tokio::test]
async fn a_key_for_two_operations_is_refused() {
    let server = Server::start(&[]).await;
    let key = Key::new("one").unwrap();
    let first = client()
        .post(server.url())
        .key(key.clone())
        .body("tea")
        .send()
        .await
        .unwrap();
    assert!(matches!(first, Outcome::Done(_)), "{first:?}");
    let second = client()
        .post(server.url())
        .key(key)
        .body("coffee")
        .send()
        .await
        .unwrap();
    assert!(matches!(second, Outcome::Refused(_)), "{second:?}");
    assert_eq!(
        second.problem().unwrap().code(),
        Some("idempotency-key-reused")
    );
    assert_eq!((second.attempts(), server.effects()), (1, 1));
}

#[tokio::test]
async fn a_failure_that_is_for_good_is_unknown() {
    let server = Server::start(&[Turn::Say(BROKEN)]).await;
    let outcome = client()
        .post(server.url())
        .body("tea")
        .send()
        .await
        .unwrap();
    let Err(NotDone::Unknown(unknown)) = outcome.done() else {
        panic!("it is not known");
    };
    assert_eq!((unknown.why(), unknown.attempts()), (Why::ServerError, 1));
    assert!(unknown.may_be_done() && !unknown.why().may_go_on());
}

#[tokio::test]
async fn no_redirect_carries_the_key_elsewhere() {
    let elsewhere = Server::start(&[]).await;
    for status in [
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary",
        "308 Permanent",
    ] {
        let location = elsewhere.url();
        let says =
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nlocation: {location}\r\n\r\n");
        let server = Server::start(&[Turn::Say(says.leak())]).await;
        let follows = idem_client::reqwest::Client::builder();
        let client = builder().http(follows).build().unwrap();
        let outcome = client.post(server.url()).body("tea").send().await.unwrap();
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{status}: {outcome:?}");
        };
        assert_eq!(
            (unknown.why(), unknown.attempts()),
            (Why::Redirected, 1),
            "{status}"
        );
        assert_eq!(unknown.answer().unwrap().headers()["location"], *location);
    }
    assert_eq!(elsewhere.received().len(), 0);
}

#[tokio::test]
async fn the_headers_of_another_server() {
    let names = ("x-request-id", "x-cached: ?1");
    let server = Server::at(([127, 0, 0, 1], 0).into(), &[Turn::CloseBehind], names).await;
    let client = builder()
        .key_header(HeaderName::from_static("x-request-id"))
        .replayed_header(HeaderName::from_static("x-cached"))
        .build()
        .unwrap();
    let outcome = client.post(server.url()).body("tea").send().await.unwrap();
    assert!(
        matches!(outcome, Outcome::Done(_)) && outcome.replayed(),
        "{outcome:?}"
    );
    assert_eq!(server.effects(), 1);
    assert_eq!(server.received()[0].header("idempotency-key"), None);
}

#[tokio::test]
async fn what_is_idempotent_is_sent_again_without_a_key() {
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let server = Server::start(&[Turn::CloseBefore, Turn::CutBody]).await;
        let request = client().request(method.clone(), server.url());
        let outcome = request.send().await.unwrap();
        assert_eq!(outcome.attempts(), 3, "{method}: {outcome:?}");
        assert!(matches!(outcome, Outcome::Done(_)), "{method}: {outcome:?}");
        let received = server.received();
        assert!(
            received
                .iter()
                .all(|attempt| attempt.header("idempotency-key").is_none())
        );
    }
}

#[tokio::test]
async fn a_key_that_the_request_has_is_kept() {
    let server = Server::start(&[Turn::CloseBehind, Turn::Say(NO_CONTENT)]).await;
    let name = HeaderName::from_static("idempotency-key");
    let request = client()
        .post(server.url())
        .header(name, HeaderValue::from_static("mine"));
    let outcome = request.body("tea").send().await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    for attempt in server.received() {
        assert_eq!(attempt.header("idempotency-key"), Some(&b"mine"[..]));
    }
}
