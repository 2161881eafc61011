//! What steps do with a handler that asks for them in a wrong way, and with one that is run again.

use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::web;
use idem_tests::until;

use super::{Kind, Played, Told, app, column, each, send, statuses};
use crate::open::{Answer, attempt, ignore_panics_of_dropped_statements, marks};

each! {
    each_kind_once,
    a_step_that_is_asked_for_twice,
    two_steps_at_once,
    a_result_that_is_not_json,
    a_transaction_that_ended_in_an_error_that_was_swallowed,
    what_a_step_has_said_cannot_be_swallowed,
    a_steps_own_error_lets_it_be_asked_for_again,
    results_come_back_as_they_were,
    a_result_may_be_as_long_as_a_response,
    a_refusal_behind_a_finished_step_lets_the_next_run_go_on,
    a_statement_that_the_work_dropped_leaves_nothing,
    a_statement_that_does_not_end_is_stopped_or_waited_for,
    outside_of_lease_mode_there_are_none,
    after_the_handler_there_are_none,
}

async fn play<K: Kind>(paths: &[&str]) -> Played {
    let requests = paths
        .iter()
        .map(|path| attempt(&format!("/steps/{path}"), "k"));
    super::play::<K>(requests.collect()).await
}

#[track_caller]
fn assert_failed(answer: &Answer) {
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.code(), "handler-failed");
}

async fn each_kind_once<K: Kind>() {
    let Played {
        database, answers, ..
    } = play::<K>(&["small", "small"]).await;
    assert_eq!(statuses(&answers), [201, 201], "{}", answers[0].body);
    assert!(!answers[0].replayed() && answers[1].replayed());
    assert_eq!(marks(&database, "small").await, 1);
    assert_eq!(database.pending().await, 0);
    database.discard().await;
}

async fn a_step_that_is_asked_for_twice<K: Kind>() {
    let Played {
        database,
        told,
        answers,
    } = play::<K>(&["repeated", "repeated"]).await;
    answers.iter().for_each(assert_failed);
    let error = "Step(Repeated { step: \"a\" })";
    assert_eq!(told.words(), ["called", error, error]);
    assert_eq!(database.pending().await, 1);
    database.discard().await;
}

async fn two_steps_at_once<K: Kind>() {
    let Played {
        database,
        told,
        answers,
    } = play::<K>(&["overlapping"]).await;
    assert_failed(&answers[0]);
    let error = "Step(Overlapping { step: \"beside\", running: \"slow\" })";
    assert_eq!(told.words(), [error]);
    let steps = column(&database, "steps").await;
    assert_eq!(
        steps.as_deref(),
        Some("{\"step\":\"slow\",\"result\":null}\n")
    );
    database.discard().await;
}

async fn a_result_that_is_not_json<K: Kind>() {
    for name in ["unwritable-call", "unwritable-transaction"] {
        let Played {
            database,
            told,
            answers,
        } = play::<K>(&[name]).await;
        assert_failed(&answers[0]);
        let words = told.words();
        let error = "Step(Unserializable { step: \"a\", source: ";
        assert!(words[0].starts_with(error), "{words:?}");
        assert_eq!(marks(&database, "unwritable").await, 0);
        // Nothing is left of the claim, unless the outside world has been called.
        let left = i64::from(name == "unwritable-call");
        assert_eq!(database.records().await, left, "{name}");
        assert_eq!(database.pending().await, left, "{name}");
        database.discard().await;
    }
}

/// On SQLite the transaction is over then, and what is written next commits by itself.
async fn a_transaction_that_ended_in_an_error_that_was_swallowed<K: Kind>() {
    let Played {
        database,
        told,
        answers,
    } = play::<K>(&["spoilt", "spoilt"]).await;
    answers.iter().for_each(assert_failed);
    let words = told.words();
    assert_eq!(words.len(), 4, "it is not finished: {words:?}");
    let error = "Step(RolledBack { step: \"a\", source: ";
    for words in words.chunks(2) {
        assert_eq!(words[0], "swallowed");
        assert!(words[1].starts_with(error), "{words:?}");
    }
    assert_eq!(marks(&database, "spoilt").await, 0);
    // Nobody outside has seen anything of it.
    assert_eq!(database.records().await, 0);
    database.discard().await;
}

async fn what_a_step_has_said_cannot_be_swallowed<K: Kind>() {
    for (name, then) in [
        ("repeated", 1),
        ("overlapping", 1),
        // Behind an unfinished step there is none.
        ("unwritable-call", 0),
        ("unwritable-transaction", 0),
        ("spoilt", 0),
        ("deferred", 0),
    ] {
        for (how, then) in [("swallow=true", 0), ("swallow=true&then=true", then)] {
            let path = format!("{name}?{how}");
            let Played {
                database, answers, ..
            } = play::<K>(&[&path]).await;
            let answer = &answers[0];
            assert_eq!(answer.status.as_u16(), 500, "{path}: {}", answer.body);
            assert_failed(answer);
            let recorded = database.records().await - database.pending().await;
            assert_eq!(recorded, 0, "{path}");
            for label in ["unwritable", "spoilt", "deferred"] {
                assert_eq!(marks(&database, label).await, 0, "{path}");
            }
            assert_eq!(marks(&database, "then").await, then, "{path}");
            database.discard().await;
        }
    }
}

async fn a_steps_own_error_lets_it_be_asked_for_again<K: Kind>() {
    let Played {
        database,
        told,
        answers,
    } = play::<K>(&["own", "own"]).await;
    assert_eq!(statuses(&answers), [201, 201], "{}", answers[0].body);
    assert!(answers[1].replayed());
    assert_eq!(told.words(), [""; 0]);
    assert_eq!(marks(&database, "own").await, 1);
    database.discard().await;
}

async fn results_come_back_as_they_were<K: Kind>() {
    let Played {
        database,
        told,
        answers,
    } = play::<K>(&["types", "types"]).await;
    assert_eq!(statuses(&answers), [500, 201], "{}", answers[1].body);
    assert_eq!(answers[0].body, "own");
    let words = told.words();
    let (first, second) = words.split_at(words.len() / 2);
    assert_eq!(first, second);
    database.discard().await;
}

async fn a_result_may_be_as_long_as_a_response<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let asked = |size: &str| attempt("/much", size).set_payload(size.to_owned());
    let requests = vec![asked("900"), asked("1025"), asked("1025")];
    let answers = send(K::builder(&database).await, &told, requests).await;
    assert_eq!(statuses(&answers), [201, 500, 500]);
    answers[1..].iter().for_each(assert_failed);
    let error = "Step(TooLarge { step: \"much\", limit: 1024 })";
    assert_eq!(told.words(), [error, error]);
    assert_eq!((database.records().await, database.pending().await), (2, 1));
    database.discard().await;
}

/// Also under `hold`: the handler knows what it has done.
async fn a_refusal_behind_a_finished_step_lets_the_next_run_go_on<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let again = || attempt("/refusing", "k");
    let other = again().set_payload("other");
    let requests = vec![again(), other, again(), again()];
    let answers = send(K::builder(&database).await, &told, requests).await;
    assert_eq!(statuses(&answers), [403, 422, 201, 201]);
    assert!(answers[3].replayed());
    assert_eq!((told.runs(), marks(&database, "refusing").await), (2, 2));
    database.discard().await;
}

/// On SQLite it panics there.
async fn a_statement_that_the_work_dropped_leaves_nothing<K: Kind>() {
    ignore_panics_of_dropped_statements();
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let dropping = (0..500).map(|n| attempt("/steps/dropped", &format!("k{n}")));
    let requests = dropping.chain([attempt("/steps/small", "k")]).collect();
    let mut answers = send(K::builder(&database).await, &told, requests).await;
    assert_eq!(answers.pop().unwrap().status, StatusCode::CREATED);
    assert!(answers.iter().all(|answer| answer.status.as_u16() == 500));
    assert_eq!(marks(&database, "dropped").await, 0);
    assert_eq!(database.records().await - database.pending().await, 1);
    database.discard().await;
}

async fn a_statement_that_does_not_end_is_stopped_or_waited_for<K: Kind>() {
    ignore_panics_of_dropped_statements();
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let again = || attempt("/brief/endless", "k");
    let first = send(K::builder(&database).await, &told, vec![again()]).await;
    assert!(
        matches!(statuses(&first)[..], [503 | 504]),
        "{}",
        first[0].body
    );
    let builder = K::builder(&database).await;
    let app = init_service(app(&builder.build().unwrap(), &told)).await;
    until("it is run again", async || {
        let answer = call_service(&app, again().to_request()).await;
        (answer.status() == StatusCode::CREATED).then_some(())
    })
    .await;
    assert_eq!(marks(&database, "endless").await, 1);
    database.discard().await;
}

async fn outside_of_lease_mode_there_are_none<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let requests = vec![
        attempt("/steps-in-transaction", "k"),
        TestRequest::post().uri("/steps-unprotected"),
    ];
    let answers = send(K::builder(&database).await, &told, requests).await;
    for answer in &answers {
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.code(), "idempotency-misconfigured");
    }
    assert_eq!(database.records().await, 0);
    database.discard().await;
}

async fn after_the_handler_there_are_none<K: Kind>() {
    let Played {
        database,
        told,
        answers,
    } = play::<K>(&["late"]).await;
    assert_eq!(statuses(&answers), [201]);
    told.after.notify_one();
    let words = until("the late steps have been asked for", async || {
        Some(told.words()).filter(|words| words.len() == 2)
    });
    assert_eq!(words.await, ["Err(NotRunning)", "Err(NotRunning)"]);
    assert_eq!(column(&database, "steps").await, None);
    database.discard().await;
}
