//! Recorded responses that are sealed, compressed, or both.

use std::sync::Arc;

use actix_web::test::TestRequest;
use idem_runtime::{Builder, EncryptionKeys, inspect};
use idem_tests::Database;

use super::{WithoutKeys, everything, keys, sealing, send, send_one};
use crate::leased::{Kind, connect, each, statuses};
use crate::open::{attempt, marks};

each! {
    nothing_that_is_sealed_can_be_read_and_it_is_replayed_byte_for_byte,
    a_row_that_was_moved_is_never_replayed,
    a_row_that_was_changed_is_never_replayed,
    keys_change_and_yesterdays_records_stay,
    a_record_of_before_is_replayed_and_a_new_one_is_sealed,
    what_cannot_be_sealed_is_not_done,
    what_is_compressed_is_smaller_and_is_replayed_byte_for_byte,
    a_body_that_claims_to_be_large_is_not_inflated,
    a_process_that_only_opens_is_ready_for_those_that_seal,
    an_error_that_is_remembered_is_sealed,
    an_operator_without_the_key_is_told_that_it_is_sealed,
    the_status_resource_opens_what_is_sealed,
}

const SECRET: &str = "{\"card\": \"4111 1111\"}";

fn secret(key: &str) -> TestRequest {
    attempt("/secret", key).set_payload(SECRET)
}

async fn nothing_that_is_sealed_can_be_read_and_it_is_replayed_byte_for_byte<K: Kind>() {
    let database = K::database().await;
    let first = send_one(sealing::<K>(&database).await, secret("k")).await;
    assert!(!everything::<K>(&database).await.contains("4111"));
    let none = || attempt("/secret", "none");
    let answers = send(
        sealing::<K>(&database).await,
        vec![secret("k"), none(), none()],
    )
    .await;
    assert_eq!(statuses(&answers), [201, 201, 201]);
    assert!(answers[0].replayed() && answers[2].replayed());
    assert_eq!((&*answers[0].body, &*first.body), (SECRET, SECRET));
    assert_eq!(
        answers[0].headers.get("x-secret"),
        first.headers.get("x-secret")
    );
    assert_eq!(answers[2].body, "");
    assert_eq!(marks(&database, "secret").await, 2);
    database.discard().await;
}

/// Answers of an operation that was recorded and cannot be read: nothing is run.
async fn is_unreadable<K: Kind>(builder: Builder<K>, database: &Database, request: TestRequest) {
    let before = marks(database, "secret").await;
    let answer = send_one(builder, request).await;
    assert_eq!(answer.status.as_u16(), 500, "{}", answer.body);
    assert_eq!(answer.code(), "idempotency-record-unreadable");
    assert!(
        answer.body.contains("\"retryable\":false"),
        "{}",
        answer.body
    );
    assert!(!answer.body.contains("4111") && !answer.replayed());
    assert_eq!(marks(database, "secret").await, before);
}

async fn a_row_that_was_moved_is_never_replayed<K: Kind>() {
    let database = K::database().await;
    let theirs = || secret("k").insert_header(("x-account", "evil"));
    // Another endpoint: the same body, and a key of its own.
    let elsewhere = || attempt("/plain", "p").set_payload(SECRET);
    let first = vec![secret("k"), secret("l"), theirs(), elsewhere()];
    let answers = send(sealing::<K>(&database).await, first).await;
    assert_eq!(statuses(&answers), [201; 4]);
    // Each of them gets what belongs to the first.
    let key = K::KEY;
    let first = format!("scope = 'account:acme' AND {key} = 'k'");
    for column in ["headers", "body"] {
        let stored = format!(
            "SELECT {column} FROM (SELECT * FROM idempotency_keys) AS all_of_them WHERE {first}"
        );
        let update =
            format!("UPDATE idempotency_keys SET {column} = ({stored}) WHERE NOT ({first})");
        database.execute(&update).await;
    }
    for moved in [secret("l"), theirs(), elsewhere()] {
        is_unreadable(sealing::<K>(&database).await, &database, moved).await;
    }
    let untouched = send_one(sealing::<K>(&database).await, secret("k")).await;
    assert!(untouched.replayed());
    database.discard().await;
}

async fn a_row_that_was_changed_is_never_replayed<K: Kind>() {
    let database = K::database().await;
    for (key, change) in [
        ("status", "status = 200"),
        ("cut", K::CUT),
        ("line", "headers = '@sealed 1 1'"),
        ("empty", "body = NULL"),
    ] {
        send_one(sealing::<K>(&database).await, secret(key)).await;
        let column = K::KEY;
        let change = format!("UPDATE idempotency_keys SET {change} WHERE {column} = '{key}'");
        database.execute(&change).await;
        if key != "line" {
            is_unreadable(sealing::<K>(&database).await, &database, secret(key)).await;
        }
    }
    // Of a line that nobody knows, somebody else may.
    let answer = send_one(sealing::<K>(&database).await, secret("line")).await;
    assert_eq!(answer.code(), "idempotency-store-unavailable");
    database.discard().await;
}

async fn keys_change_and_yesterdays_records_stay<K: Kind>() {
    let database = K::database().await;
    send_one(sealing::<K>(&database).await, secret("old")).await;
    let second = || EncryptionKeys::new(2, [2; 32]);
    let rotated = async || {
        let builder = K::builder(&database).await;
        builder.seal(second().retired(1, [1; 32]).unwrap())
    };
    let answers = send(rotated().await, vec![secret("old"), secret("new")]).await;
    assert!(answers[0].replayed() && !answers[1].replayed());
    // Who has not got the new key yet cannot tell, but another process may; and the other way round.
    let without = K::builder(&database).await.seal(second());
    for (builder, key) in [(sealing::<K>(&database).await, "new"), (without, "old")] {
        let answer = send_one(builder, secret(key)).await;
        assert_eq!(answer.status.as_u16(), 503);
        assert_eq!(answer.code(), "idempotency-store-unavailable");
        assert!(answer.headers.contains_key("retry-after"));
    }
    // So does a process that does not seal at all.
    let plain = send_one(K::builder(&database).await, secret("old")).await;
    assert_eq!(plain.code(), "idempotency-store-unavailable");
    let answers = send(rotated().await, vec![secret("old"), secret("new")]).await;
    assert!(answers.iter().all(|answer| answer.replayed()));
    assert_eq!(marks(&database, "secret").await, 2);
    database.discard().await;
}

async fn a_record_of_before_is_replayed_and_a_new_one_is_sealed<K: Kind>() {
    let database = K::database().await;
    send_one(K::builder(&database).await, secret("before")).await;
    assert!(everything::<K>(&database).await.contains("4111"));
    let answers = send(
        sealing::<K>(&database).await,
        vec![secret("before"), secret("after")],
    )
    .await;
    assert!(answers[0].replayed());
    assert_eq!(answers[0].body, SECRET);
    let sealed = "SELECT count(*) FROM idempotency_keys WHERE headers LIKE '@sealed 1 1%'";
    assert_eq!(database.number(sealed).await, 1);
    database.discard().await;
}

async fn what_cannot_be_sealed_is_not_done<K: Kind>() {
    let database = K::database().await;
    let broken = K::builder(&database).await.seal(WithoutKeys);
    let answer = send_one(broken, secret("k")).await;
    // Nothing was done, and the next attempt may find the keys.
    assert_eq!(answer.status.as_u16(), 503);
    assert_eq!(answer.code(), "idempotency-store-unavailable");
    assert!(answer.headers.contains_key("retry-after"));
    assert!(!answer.body.contains("away"));
    assert_eq!(marks(&database, "secret").await, 0);
    assert_eq!(database.records().await, 0);
    let again = send_one(sealing::<K>(&database).await, secret("k")).await;
    assert_eq!(again.status.as_u16(), 201);
    database.discard().await;
}

async fn what_is_compressed_is_smaller_and_is_replayed_byte_for_byte<K: Kind>() {
    let database = K::database().await;
    let large = || attempt("/large", "k").set_payload("20000");
    let small = || secret("k2");
    for is_sealed in [false, true] {
        let builder = async || {
            let builder = K::builder(&database).await.compress_over(1000);
            match is_sealed {
                true => builder.seal(keys()),
                false => builder,
            }
        };
        let first = send(builder().await, vec![large(), small()]).await;
        let key = K::KEY;
        let length = format!("SELECT length(body) FROM idempotency_keys WHERE {key} = 'k'");
        assert!(database.number(&length).await < 1000);
        let again = send(builder().await, vec![large(), small()]).await;
        for (first, again) in first.iter().zip(&again) {
            assert!(!first.replayed() && again.replayed());
            assert_eq!(first.body, again.body);
        }
        assert_eq!(first[0].body.len(), 100_000);
        // Who compresses nothing reads it as well.
        let other = K::builder(&database).await.seal(keys());
        assert_eq!(send_one(other, large()).await.body, first[0].body);
        database.expire_all().await;
    }
    database.discard().await;
}

async fn a_body_that_claims_to_be_large_is_not_inflated<K: Kind>() {
    let database = K::database().await;
    let large = || attempt("/large", "k").set_payload("20000");
    let builder = async || K::builder(&database).await.compress_over(1000);
    send_one(builder().await, large()).await;
    for claim in ["99999", "100001", "16777216"] {
        let was = "SELECT headers FROM idempotency_keys";
        let headers = database.text(was).await.unwrap();
        let (_, rest) = headers.split_once('\n').unwrap();
        let change = format!("UPDATE idempotency_keys SET headers = '@zstd {claim}\n{rest}'");
        database.execute(&change).await;
        is_unreadable(builder().await, &database, large()).await;
    }
    // Another program may have endpoints that are so large.
    database
        .execute("UPDATE idempotency_keys SET headers = replace(headers, '@zstd 1', '@zstd 9991')")
        .await;
    let answer = send_one(builder().await, large()).await;
    assert_eq!(answer.code(), "idempotency-store-unavailable");
    database.discard().await;
}

async fn a_process_that_only_opens_is_ready_for_those_that_seal<K: Kind>() {
    let database = K::database().await;
    let opening = async || K::builder(&database).await.open_sealed(Arc::new(keys()));
    send_one(opening().await, secret("before")).await;
    assert!(everything::<K>(&database).await.contains("4111"));
    send_one(sealing::<K>(&database).await, secret("k")).await;
    let answers = send(opening().await, vec![secret("before"), secret("k")]).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.replayed() && answer.body == SECRET)
    );
    database.discard().await;
}

async fn an_error_that_is_remembered_is_sealed<K: Kind>() {
    let database = K::database().await;
    let failing = || attempt("/nested", "k").set_payload("fail");
    let answers = send(sealing::<K>(&database).await, vec![failing(), failing()]).await;
    assert_eq!(statuses(&answers), [422, 422]);
    assert!(answers[1].replayed() && answers[1].body == "no");
    let headers = database.text("SELECT headers FROM idempotency_keys").await;
    assert_eq!(headers.as_deref(), Some("@sealed 1 1\n"));
    database.discard().await;
}

async fn an_operator_without_the_key_is_told_that_it_is_sealed<K: Kind>() {
    let database = K::database().await;
    send_one(sealing::<K>(&database).await, secret("k")).await;
    let mut connection = connect::<K>(&database).await;
    let operation = inspect::operation(&mut connection, "account:acme", "k").await;
    assert_eq!(operation.unwrap().unwrap().status, Some(201));
    let error = inspect::response(&mut connection, "account:acme", "k").await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("sealed under key 1"), "{error}");
    drop(connection);
    database.discard().await;
}

async fn the_status_resource_opens_what_is_sealed<K: Kind>() {
    let database = K::database().await;
    let builder = sealing::<K>(&database).await;
    let request = attempt("/accept/201", "k").set_payload(SECRET);
    assert_eq!(send_one(builder, request).await.body, SECRET);
    assert!(!everything::<K>(&database).await.contains("4111"));
    let mut connection = connect::<K>(&database).await;
    let operation = inspect::operation(&mut connection, "account:acme", "k").await;
    let path = format!("/operations/{}", operation.unwrap().unwrap().id.simple());
    let status = || {
        TestRequest::get()
            .uri(&path)
            .insert_header(("x-account", "acme"))
    };
    let answer = send_one(sealing::<K>(&database).await, status()).await;
    assert_eq!((answer.status.as_u16(), &*answer.body), (201, SECRET));
    database
        .execute(&format!("UPDATE idempotency_keys SET {}", K::CUT))
        .await;
    let answer = send_one(sealing::<K>(&database).await, status()).await;
    assert_eq!(answer.code(), "idempotency-record-unreadable");
    drop(connection);
    database.discard().await;
}
