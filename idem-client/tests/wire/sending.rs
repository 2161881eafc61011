//! What is sent, and what is not.

use idem_client::{Key, KeyForm, NotSent, Outcome};

use crate::server::Server;
use crate::{builder, client};

#[tokio::test]
async fn both_forms_of_a_key() {
    for (form, key) in [(KeyForm::Quoted, &b"\"k-1\""[..]), (KeyForm::Bare, b"k-1")] {
        let server = Server::start(&[]).await;
        let client = builder().key_form(form).build().unwrap();
        let request = client.post(server.url()).key(Key::new("k-1").unwrap());
        assert!(matches!(request.send().await.unwrap(), Outcome::Done(_)));
        assert_eq!(server.received()[0].header("idempotency-key"), Some(key));
    }
}

#[tokio::test]
async fn what_cannot_be_sent_twice_is_not_sent_once() {
    let server = Server::start(&[]).await;
    let body = idem_client::reqwest::Body::wrap("a stream".to_owned());
    let unsent = client().post(server.url()).body(body).send().await;
    assert!(matches!(unsent, Err(NotSent::Stream)), "{unsent:?}");
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn a_bad_request_is_an_error_at_once() {
    let unsent = client().post("no URL").send().await;
    assert!(matches!(unsent, Err(NotSent::Request(_))), "{unsent:?}");
    let key = Key::new("a b").unwrap();
    let bare = builder().key_form(KeyForm::Bare).build().unwrap();
    let unsent = bare.post("http://127.0.0.1:9/").key(key).send().await;
    assert!(matches!(unsent, Err(NotSent::Key(_))), "{unsent:?}");
}

#[tokio::test]
async fn a_request_that_was_made_elsewhere() {
    let server = Server::start(&[]).await;
    let plain = idem_client::reqwest::Client::new();
    let request = plain.patch(server.url()).json(&[1]).build().unwrap();
    let outcome = client().execute(request).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    let received = &server.received()[0];
    assert_eq!(
        (&*received.method, &received.body[..]),
        ("PATCH", &b"[1]"[..])
    );
    assert!(received.header("idempotency-key").is_some());
}
