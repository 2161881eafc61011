//! Values that are left out of what is recorded.

use actix_web::test::TestRequest;

use super::{everything, sealing, send, send_one};
use crate::leased::{Kind, each, statuses};
use crate::open::{attempt, marks};

each! {
    a_value_that_is_left_out_is_answered_once_and_stored_nowhere,
    what_cannot_be_looked_into_is_not_stored,
    what_is_no_json_is_stored_as_it_is,
    what_is_left_out_is_not_sealed_either,
}

const CARD: &str =
    "{ \"id\": 1.0, \"card\": {\"number\": \"4111\", \"brand\": \"v\"},\n\"pins\": [1, 2] }";
const LEFT: &str = "{ \"id\": 1.0, \"card\": {\"number\": \"[redacted]\", \"brand\": \"v\"},\n\"pins\": \"[redacted]\" }";

fn card(key: &str, media_type: &str) -> TestRequest {
    attempt("/card", key)
        .insert_header(("accept", media_type))
        .set_payload(CARD)
}

async fn a_value_that_is_left_out_is_answered_once_and_stored_nowhere<K: Kind>() {
    let database = K::database().await;
    let requests = || {
        vec![
            card("k", "application/json"),
            card("l", "application/vnd.card+json"),
        ]
    };
    let first = send(K::builder(&database).await, requests()).await;
    assert!(!everything::<K>(&database).await.contains("4111"));
    let again = send(K::builder(&database).await, requests()).await;
    for (first, again) in first.iter().zip(&again) {
        assert_eq!((first.status.as_u16(), &*first.body), (201, CARD));
        assert!(first.headers.contains_key("content-digest"));
        assert_eq!((again.status.as_u16(), &*again.body), (201, LEFT));
        assert!(again.replayed());
        assert_eq!(
            first.headers.get("content-type"),
            again.headers.get("content-type")
        );
        // It would be that of the first body.
        assert!(!again.headers.contains_key("content-digest"));
        assert!(!again.headers.contains_key("etag"));
    }
    // A body of which nothing was left out keeps it.
    let other = || card("m", "application/json").set_payload("{\"id\":2}");
    let answers = send(K::builder(&database).await, vec![other(), other()]).await;
    assert_eq!(answers[1].body, "{\"id\":2}");
    assert!(answers[1].replayed() && answers[1].headers.contains_key("content-digest"));
    assert_eq!(marks(&database, "card").await, 3);
    database.discard().await;
}

async fn what_cannot_be_looked_into_is_not_stored<K: Kind>() {
    let database = K::database().await;
    let encoded = card("k", "application/json").insert_header(("te", "gzip"));
    let damaged =
        |key, media_type| card(key, media_type).set_payload("{\"card\": {\"number\": 4111}");
    let lines = card("m", "application/x-ndjson").set_payload("{\"pins\": 1}\n{\"pins\": 2}");
    let odd = damaged("n", "application/json ; charset=utf-8");
    let requests = vec![encoded, damaged("l", "application/json"), lines, odd];
    let answers = send(K::builder(&database).await, requests).await;
    assert_eq!(statuses(&answers), [500; 4]);
    for answer in &answers {
        assert_eq!(answer.code(), "response-not-storable");
    }
    assert_eq!(marks(&database, "card").await, 0);
    assert_eq!(database.records().await, 0);
    database.discard().await;
}

async fn what_is_no_json_is_stored_as_it_is<K: Kind>() {
    let database = K::database().await;
    let text = || card("k", "text/plain").set_payload("no funds");
    // By what it says of itself this is a text, too; but it can be looked into.
    let json = || card("l", "text/plain");
    let answers = send(
        K::builder(&database).await,
        vec![text(), text(), json(), json()],
    )
    .await;
    assert_eq!(statuses(&answers), [201; 4]);
    assert_eq!(answers[1].body, "no funds");
    assert_eq!(answers[3].body, LEFT);
    database.discard().await;
}

async fn what_is_left_out_is_not_sealed_either<K: Kind>() {
    let database = K::database().await;
    let request = || card("k", "application/json");
    send_one(sealing::<K>(&database).await, request()).await;
    let again = send_one(sealing::<K>(&database).await, request()).await;
    assert_eq!(again.body, LEFT);
    database.discard().await;
}
