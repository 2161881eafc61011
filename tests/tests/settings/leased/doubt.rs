//! Steps that did not come to their end: what a later step, the answer and the next run may make of that.

use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::web;
use idem_tests::{Database, until};

use super::{Kind, Told, app, column, each, send, statuses};
use crate::open::{Answer, attempt, ignore_panics_of_dropped_statements, marks};

each! {
    a_step_that_was_dropped_at_its_commit_was_taken_twice,
    a_run_that_failed_before_its_finished_steps_was_called_another_version,
    a_failure_that_was_lived_with_blocked_the_key,
    a_failure_that_is_a_result_is_the_same_in_every_run,
    all_results_together_may_be_as_long_as_a_response,
    a_key_was_free_for_another_request_behind_a_call_that_failed,
    a_key_is_free_as_long_as_no_step_was_begun,
}

async fn ask<K: Kind>(
    database: &Database,
    told: &web::Data<Told>,
    requests: Vec<TestRequest>,
) -> Vec<Answer> {
    send(K::builder(database).await, told, requests).await
}

fn again<const N: usize>(path: &str) -> Vec<TestRequest> {
    [(); N].map(|()| attempt(path, "k")).into()
}

/// The step's COMMIT is under way when the handler's own time-out drops it.
async fn a_step_that_was_dropped_at_its_commit_was_taken_twice<K: Kind>() {
    ignore_panics_of_dropped_statements();
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let builder = K::builder(&database).await;
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    let ask = async |key: &str| {
        let request = attempt("/run/impatient", key).to_request();
        Answer::of(call_service(&app, request).await).await
    };
    let mut waits = 0;
    while told.times("through") == 0 {
        waits += 1;
        let key = waits.to_string();
        let first = ask(&key).await;
        let taken = marks(&database, &key).await;
        let what = format!("{waits}: {} {}, {taken}", first.status, first.body);
        assert!(taken <= 1, "{what}");
        assert!(!first.status.is_success() || taken == 1, "{what}");
        until("it is done", async || {
            let status = ask(&key).await.status.as_u16();
            (status == 201).then_some(())
        })
        .await;
        assert_eq!(marks(&database, &key).await, 1, "{what}");
    }
    assert!(waits > 1, "it never had to wait");
    database.discard().await;
}

async fn a_run_that_failed_before_its_finished_steps_was_called_another_version<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let answers = ask::<K>(&database, &told, again::<4>("/run/early")).await;
    assert_eq!(statuses(&answers), [502, 503, 429, 502]);
    assert_eq!(database.pending().await, 1);
    database.discard().await;
}

/// A later step would be remembered without the one before it, and the next run would ask for that one first.
async fn a_failure_that_was_lived_with_blocked_the_key<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let answers = ask::<K>(&database, &told, again::<3>("/run/lived-with")).await;
    assert_eq!(statuses(&answers), [500, 201, 201]);
    assert!(answers[2].replayed());
    let words = told.words();
    let error = "Step(Unfinished { step: \"first\", unfinished: \"score\" })";
    assert_eq!(words[1], error, "{words:?}");
    database.discard().await;
}

async fn a_failure_that_is_a_result_is_the_same_in_every_run<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let answers = ask::<K>(&database, &told, again::<2>("/run/result")).await;
    assert_eq!(statuses(&answers), [502, 201], "{}", answers[1].body);
    assert_eq!(told.times("score Err(\"away\")"), 2, "{:?}", told.words());
    database.discard().await;
}

async fn all_results_together_may_be_as_long_as_a_response<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let answers = ask::<K>(&database, &told, again::<2>("/run/sum")).await;
    assert_eq!(statuses(&answers), [500, 500]);
    assert_eq!(answers[0].code(), "handler-failed");
    let error = "Step(TooLarge { step: \"b\", limit: 1024 })";
    assert_eq!(told.times(error), 2, "also of the run that goes on");
    let steps = column(&database, "steps").await.unwrap();
    assert_eq!(steps.lines().count(), 1);
    database.discard().await;
}

/// The call may have been made nevertheless.
async fn a_key_was_free_for_another_request_behind_a_call_that_failed<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let first = || attempt("/run/call", "k");
    let other = || first().set_payload("other");
    let requests = vec![first(), other(), first(), other()];
    let answers = ask::<K>(&database, &told, requests).await;
    assert_eq!(statuses(&answers), [500, 422, 201, 422]);
    let words = told.words();
    let charges = words.iter().filter(|word| word.starts_with("charge "));
    let charges: Vec<_> = charges.collect();
    assert_eq!(charges.len(), 2, "{words:?}");
    assert_eq!(charges[0], charges[1], "with another key");
    database.discard().await;
}

async fn a_key_is_free_as_long_as_no_step_was_begun<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let other = || attempt("/run/before", "k").set_payload("other");
    let first = attempt("/run/before", "k");
    let answers = ask::<K>(&database, &told, vec![first]).await;
    assert_eq!(
        (statuses(&answers), database.records().await),
        (vec![500], 0)
    );
    let answers = ask::<K>(&database, &told, vec![other(), other()]).await;
    assert_eq!(statuses(&answers), [201, 201]);
    assert!(answers[1].replayed());
    database.discard().await;
}
