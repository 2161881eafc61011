//! What a handler's answer means for its claim.

use actix_web::http::StatusCode;
use actix_web::web;
use idem_runtime::{BuildError, Idempotency};

use super::{Kind, Played, Told, each, play, send, statuses};
use crate::open::attempt;

each! {
    a_handler_that_says_that_nothing_was_done_frees_the_key,
    a_handler_of_which_nobody_knows_what_it_did_holds_the_key,
    what_is_recorded_is_replayed,
    a_record_that_has_expired_makes_room,
    our_words_have_the_applications_base,
    to_accept_duplicates_needs_a_status_path,
    a_status_path_is_a_path,
}

async fn a_handler_that_says_that_nothing_was_done_frees_the_key<K: Kind>() {
    for (path, status) in [
        ("/hold/again", 500),
        ("/hold/401", 401),
        ("/hold/403", 403),
        ("/hold/425", 425),
        ("/hold/429", 429),
        ("/rerun/again", 500),
        ("/rerun/403", 403),
        ("/rerun/408", 408),
        ("/rerun/503", 503),
        ("/success/404", 404),
    ] {
        let again = || attempt(path, "k");
        let Played {
            database,
            told,
            answers,
        } = play::<K>(vec![again(), again()]).await;
        assert_eq!(statuses(&answers), [status, status], "{path}");
        assert!(!answers[1].replayed(), "{path}");
        assert_eq!((told.runs(), database.records().await), (2, 0), "{path}");
        // For another request, too.
        let other = again().set_payload("other");
        let answers = send(K::builder(&database).await, &told, vec![other]).await;
        assert_eq!(statuses(&answers), [status], "{path}");
        database.discard().await;
    }
}

async fn a_handler_of_which_nobody_knows_what_it_did_holds_the_key<K: Kind>() {
    for (path, status) in [
        ("/hold/408", 408),
        ("/hold/500", 500),
        ("/hold/503", 503),
        ("/success/500", 500),
    ] {
        let again = || attempt(path, "k");
        let other = again().set_payload("other");
        let Played {
            database,
            told,
            answers,
        } = play::<K>(vec![again(), again(), other]).await;
        assert_eq!(statuses(&answers), [status, 409, 422], "{path}");
        assert_eq!(answers[1].code(), "idempotency-unresolved", "{path}");
        assert!(answers[1].headers.contains_key("retry-after"), "{path}");
        assert_eq!((told.runs(), database.pending().await), (1, 1), "{path}");
        database.discard().await;
    }
}

async fn what_is_recorded_is_replayed<K: Kind>() {
    for (path, status) in [
        ("/all/500", 500),
        ("/all/403", 403),
        ("/success/201", 201),
        ("/hold/201", 201),
        ("/hold/404", 404),
        ("/rerun/302", 302),
    ] {
        let again = || attempt(path, "k");
        let Played {
            database,
            told,
            answers,
        } = play::<K>(vec![again(), again()]).await;
        assert_eq!(statuses(&answers), [status, status], "{path}");
        assert!(!answers[0].replayed() && answers[1].replayed(), "{path}");
        assert_eq!(answers[0].body, answers[1].body, "{path}");
        assert_eq!((told.runs(), database.pending().await), (1, 0), "{path}");
        database.discard().await;
    }
}

async fn a_record_that_has_expired_makes_room<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    for run in 1..=3 {
        let again = || attempt("/hold/201", "k");
        let builder = K::builder(&database).await;
        let answers = send(builder, &told, vec![again(), again()]).await;
        assert!(!answers[0].replayed() && answers[1].replayed());
        assert_eq!((told.runs(), database.records().await), (run, 1));
        database.expire_all().await;
    }
    // Of what is behind the record the new claim knows nothing.
    let failing = vec![attempt("/hold/500", "k")];
    let answers = send(K::builder(&database).await, &told, failing).await;
    assert_eq!(answers[0].status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!((database.records().await, database.pending().await), (1, 1));
    database.discard().await;
}

async fn our_words_have_the_applications_base<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let builder = K::builder(&database).await;
    let builder = builder.problem_base("https://api.example/");
    let requests = ["/hold/again", "/steps/repeated", "/steps/unwritable-call"];
    let requests = requests.map(|path| attempt(path, path));
    let answers = send(builder, &told, requests.into()).await;
    for answer in answers {
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        let kind = "\"https://api.example/handler-failed\"";
        assert!(answer.body.contains(kind), "{}", answer.body);
        assert!(!answer.body.contains("rolled back"), "{}", answer.body);
    }
    database.discard().await;
}

async fn to_accept_duplicates_needs_a_status_path<K: Kind>() {
    let database = K::database().await;
    let builder = Idempotency::builder(K::bb8(&database, 1).await);
    let builder = builder.account_with(|_| None).scope("tenant", |_| None);
    let error = builder.build().unwrap_err();
    assert!(error.to_string().contains(".status_path(..)"), "{error}");
    let BuildError::AcceptWithoutStatusPath { handler } = error else {
        panic!("{error}");
    };
    assert!(handler.ends_with("leased::handlers::accept"), "{handler}");
    database.discard().await;
}

async fn a_status_path_is_a_path<K: Kind>() {
    let database = K::database().await;
    for path in ["operations", "/a b", "/{x}", "", "/", "/a?b", "//a%20"] {
        let builder = K::builder(&database).await.status_path(path);
        match builder.build() {
            Err(BuildError::StatusPath(refused)) => assert_eq!(refused, path),
            other => panic!("{path}: {other:?}"),
        }
    }
    for path in ["/operations", "/api/v1/operations/", "/~me/a_b-c.d"] {
        assert!(
            K::builder(&database)
                .await
                .status_path(path)
                .build()
                .is_ok()
        );
    }
    database.discard().await;
}
