//! Lease mode where the application seals: the results of steps, the request that is kept, and what a reconciler says.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web;
use idem_runtime::{
    Builder, EncryptionKeys, RecordedResponse, UnresolvedOperation, Verdict, settle,
};
use idem_tests::{Database, until};

use super::{WithoutKeys, everything, keys, sealing};
use crate::leased::runs::SECRET;
use crate::leased::{Kind, Told, app, column, connect, each, send, statuses, unresolved};
use crate::open::attempt;

const RETAIN: Duration = Duration::from_secs(60);
const DONE: &str = "the step was done";

each! {
    a_run_that_takes_over_opens_the_results_of_the_one_before,
    a_run_that_takes_over_has_another_secret,
    what_is_damaged_is_never_done_again,
    a_step_that_could_not_be_remembered_is_not_begun,
    a_seal_takes_no_room_from_results,
    a_value_is_left_out_in_lease_mode_too,
    a_worker_opens_the_request_that_was_kept,
    a_reconciler_reads_what_is_sealed_and_its_answer_is_sealed,
    who_has_no_key_sees_names_only,
    a_verdict_is_sealed_by_the_applications_own_settle,
}

async fn a_run_that_takes_over_opens_the_results_of_the_one_before<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = || vec![attempt("/run/secret", "k")];
    let answers = send(sealing::<K>(&database).await, &told, request()).await;
    assert_eq!(statuses(&answers), [502]);
    let stored = everything::<K>(&database).await;
    assert!(
        stored.contains("card") && !stored.contains(SECRET),
        "{stored}"
    );
    // Who has another key does not run the handler, which would do the step again.
    let other = EncryptionKeys::new(2, [2; 32]);
    let changed = EncryptionKeys::new(1, [9; 32]);
    for (keys, status, code) in [
        (other, 503, "idempotency-store-unavailable"),
        (changed, 500, "idempotency-record-unreadable"),
    ] {
        let builder = K::builder(&database).await.seal(keys);
        let answers = send(builder, &told, request()).await;
        assert_eq!(
            (statuses(&answers), &*answers[0].code()),
            (vec![status], code)
        );
    }
    assert_eq!(told.times("secret of k"), 1);
    let answers = send(sealing::<K>(&database).await, &told, request()).await;
    assert_eq!(statuses(&answers), [201]);
    assert_eq!((told.times("secret of k"), told.times(DONE)), (2, 1));
    database.discard().await;
}

/// The row's fingerprint was made under the secret of its first owner, and what is sealed is bound to that.
async fn a_run_that_takes_over_has_another_secret<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = || vec![attempt("/run/secret", "k")];
    let first = sealing::<K>(&database).await;
    let answers = send(first.fingerprint_secret(1, "one"), &told, request()).await;
    assert_eq!(statuses(&answers), [502]);
    let second = async || {
        let builder = sealing::<K>(&database).await;
        builder
            .fingerprint_secret(2, "two")
            .retired_fingerprint_secret(1, "one")
    };
    let answers = send(second().await, &told, request()).await;
    assert_eq!(statuses(&answers), [201]);
    assert_eq!((told.times("secret of k"), told.times(DONE)), (2, 1));
    let answers = send(second().await, &told, request()).await;
    assert!(answers[0].replayed());
    database.discard().await;
}

/// Nobody knows which step is done: the handler is not run again, and a reconciler is asked.
async fn what_is_damaged_is_never_done_again<K: Kind>() {
    for (path, change) in [
        (
            "/run/secret",
            "steps = replace(steps, '\"key\":1', '\"key\":\"1\"')",
        ),
        (
            "/run/secret",
            "steps = replace(steps, '\"key\":1', '\"kez\":1')",
        ),
        ("/run-kept/secret", "steps = '{}'"),
        ("/run-kept/secret", K::CUT_REQUEST),
    ] {
        let database = K::database().await;
        let told = web::Data::<Told>::default();
        let request = || vec![attempt(path, "k").set_payload("sent")];
        let answers = send(sealing::<K>(&database).await, &told, request()).await;
        assert_eq!(statuses(&answers), [502]);
        let change = format!("UPDATE idempotency_keys SET {change}");
        database.execute(&change).await;
        match path {
            "/run/secret" => {
                let answers = send(sealing::<K>(&database).await, &told, request()).await;
                assert_eq!(
                    answers[0].code(),
                    "idempotency-record-unreadable",
                    "{change}"
                );
                assert_eq!(answers[0].status.as_u16(), 500);
            }
            // A worker leaves it.
            _ => {
                let is_kept = "CASE WHEN request IS NULL THEN 'no' ELSE 'yes' END";
                let over = async || column(&database, is_kept).await.as_deref() == Some("no");
                drive(sealing::<K>(&database).await, &told, over).await;
            }
        }
        assert_eq!(
            (told.times("secret of k"), told.times(DONE)),
            (1, 1),
            "{change}"
        );
        struct Asked(web::Data<Told>);
        impl idem_runtime::Reconciler for Asked {
            async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
                let card = operation.step::<String>("card");
                self.0
                    .say(format!("asked {:?}", card.map(|card| card.is_ok())));
                Verdict::Completed(RecordedResponse::new(StatusCode::CREATED))
            }
        }
        let builder = sealing::<K>(&database).await;
        let builder = builder.worker_interval(Duration::from_millis(10));
        let worker = builder
            .build()
            .unwrap()
            .spawn_reconciler(Asked(told.clone()));
        until("nothing is pending", async || {
            (database.pending().await == 0).then_some(())
        })
        .await;
        worker.stop().await;
        let is_step = change.contains("steps");
        assert_eq!(
            told.times("asked Some(false)"),
            u32::from(is_step),
            "{:?}",
            told.words()
        );
        database.discard().await;
    }
}

/// The last key has been taken away: the step is not begun, so that nothing is lost of what it would have done.
async fn a_step_that_could_not_be_remembered_is_not_begun<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = || vec![attempt("/run/secret", "k")];
    let broken = K::builder(&database).await.seal(WithoutKeys);
    let answers = send(broken, &told, request()).await;
    assert_eq!(statuses(&answers), [500]);
    assert_eq!((told.times("secret of k"), told.times(DONE)), (1, 0));
    database.discard().await;
}

/// They may be as long as the endpoint says, whatever a seal makes of them.
async fn a_seal_takes_no_room_from_results<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = |size: &str| attempt("/much", size).set_payload(size.to_owned());
    let requests = vec![request("1000"), request("1020")];
    let answers = send(sealing::<K>(&database).await, &told, requests).await;
    assert_eq!(statuses(&answers), [201, 500], "{:?}", told.words());
    database.discard().await;
}

async fn a_value_is_left_out_in_lease_mode_too<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = || attempt("/card-leased", "k").set_payload("{\"pin\": 4111}");
    let requests = vec![request(), request()];
    let answers = send(K::builder(&database).await, &told, requests).await;
    assert_eq!(answers[0].body, "{\"pin\": 4111}");
    assert_eq!(answers[1].body, "{\"pin\": \"[redacted]\"}");
    assert!(!everything::<K>(&database).await.contains("4111"));
    database.discard().await;
}

async fn drive<K: Kind>(builder: Builder<K>, told: &web::Data<Told>, over: impl AsyncFn() -> bool) {
    let builder = builder.worker_interval(Duration::from_millis(10));
    let idempotency = builder.build().unwrap();
    let worker = idempotency.spawn_completion({
        let (idempotency, told) = (idempotency.clone(), told.clone());
        move || app(&idempotency, &told)
    });
    until("it is over", async || over().await.then_some(())).await;
    worker.stop().await;
}

async fn a_worker_opens_the_request_that_was_kept<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = || vec![attempt("/run-kept/secret", "k").set_payload("sent 4111")];
    let answers = send(sealing::<K>(&database).await, &told, request()).await;
    assert_eq!(statuses(&answers), [502]);
    assert!(!everything::<K>(&database).await.contains("4111"));
    // Without the key it is looked at, and left.
    let looked_at = async || {
        let attempts = column(&database, "attempts").await;
        attempts.is_some_and(|attempts| attempts != "0")
    };
    drive(K::builder(&database).await, &told, looked_at).await;
    assert_eq!(told.times("secret of k"), 1);
    database
        .execute("UPDATE idempotency_keys SET next_attempt_at = NULL")
        .await;
    let over = async || database.pending().await == 0;
    drive(sealing::<K>(&database).await, &told, over).await;
    assert_eq!((told.times("secret of k"), told.times(DONE)), (2, 1));
    let answers = send(sealing::<K>(&database).await, &told, request()).await;
    assert!(answers[0].replayed());
    database.discard().await;
}

/// Leaves an operation behind that nobody may run again, with a finished step.
async fn strand<K: Kind>(database: &Database, told: &web::Data<Told>) {
    let request = vec![attempt("/run-held/secret", "k")];
    let answers = send(sealing::<K>(database).await, told, request).await;
    assert_eq!(statuses(&answers), [502]);
}

async fn a_reconciler_reads_what_is_sealed_and_its_answer_is_sealed<K: Kind>() {
    struct Reads;
    impl idem_runtime::Reconciler for Reads {
        async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
            match operation.step::<String>("card") {
                Some(Ok(card)) => {
                    Verdict::Completed(RecordedResponse::new(StatusCode::CREATED).body(card))
                }
                _ => Verdict::Unknown,
            }
        }
    }
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    strand::<K>(&database, &told).await;
    let builder = sealing::<K>(&database).await;
    let builder = builder.worker_interval(Duration::from_millis(10));
    let worker = builder.build().unwrap().spawn_reconciler(Reads);
    until("nothing is pending", async || {
        (database.pending().await == 0).then_some(())
    })
    .await;
    worker.stop().await;
    assert!(!everything::<K>(&database).await.contains(SECRET));
    let again = vec![attempt("/run-held/secret", "k")];
    let answers = send(sealing::<K>(&database).await, &told, again).await;
    assert!(answers[0].replayed());
    assert_eq!(answers[0].body, SECRET);
    database.discard().await;
}

async fn who_has_no_key_sees_names_only<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let request = vec![attempt("/run-kept/secret", "k").set_payload("sent")];
    send(sealing::<K>(&database).await, &told, request).await;
    let mut connection = connect::<K>(&database).await;
    let seen = unresolved(&database, &mut connection).await;
    assert_eq!(seen.steps().collect::<Vec<_>>(), ["card"]);
    let error = seen
        .step::<String>("card")
        .unwrap()
        .unwrap_err()
        .to_string();
    assert!(error.contains("sealed under key 1"), "{error}");
    assert!(seen.request().is_none());
    drop(connection);
    database.discard().await;
}

async fn a_verdict_is_sealed_by_the_applications_own_settle<K: Kind>() {
    for is_sealed in [true, false] {
        let database = K::database().await;
        let told = web::Data::<Told>::default();
        strand::<K>(&database, &told).await;
        let mut connection = connect::<K>(&database).await;
        let seen = unresolved(&database, &mut connection).await;
        let response = RecordedResponse::new(StatusCode::CREATED).body(SECRET);
        let verdict = Verdict::Completed(response);
        let settled = match is_sealed {
            true => {
                let idempotency = K::builder(&database).await.seal(keys()).build().unwrap();
                idempotency
                    .settle(&mut connection, &seen, verdict, RETAIN)
                    .await
            }
            false => settle(&mut connection, &seen, verdict, RETAIN).await,
        };
        assert!(settled.unwrap());
        drop(connection);
        let is_readable = everything::<K>(&database).await.contains(SECRET);
        assert_ne!(is_readable, is_sealed);
        let again = vec![attempt("/run-held/secret", "k")];
        let answers = send(sealing::<K>(&database).await, &told, again).await;
        assert!(answers[0].replayed());
        assert_eq!(answers[0].body, SECRET);
        database.discard().await;
    }
}
