//! Who wins, who loses, and what the loser gets: over the pool, over expiry, over errors, over serialization.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_tests::{
    App, Backend, Response, Stage, all_at_once, asynchronous, in_both_styles,
    in_both_styles_on_servers, send, until,
};
use serde_json::{Value, json};

use crate::asking::{
    ask, assert_one_original, assert_replay, assert_runs, gated, marking, settled, storm,
};

in_both_styles! {
    pool_of_one_never_hangs,
    equal_bodies_under_other_keys_do_not_block,
    an_expired_record_is_taken_over_once,
    deleted_records_never_let_a_handler_run_without_a_claim,
    remembered_errors_in_a_storm,
    failing_in_a_storm_frees_the_key,
    serialization_failures_are_run_again,
}

asynchronous! { pool_of_one_never_hangs_with_deadpool }

in_both_styles_on_servers! { a_replay_in_progress_is_nothing_in_flight }

async fn pool_of_one_never_hangs(stage: &Stage) {
    crowd(stage.app().pool(1).start().await).await;
}

async fn pool_of_one_never_hangs_with_deadpool(stage: &Stage) {
    crowd(stage.app().pool(1).argument("--deadpool").start().await).await;
}

/// Twenty at once, two for each of ten keys.
async fn crowd(app: App) {
    let address = app.address();
    let answers = all_at_once(20, |index| {
        let key = format!("k{}", index / 2);
        let request = ask("/account/script", &key, &marking("crowd"));
        async move { send(address, &request).await.expect("an answer") }
    })
    .await;
    for pair in answers.chunks(2) {
        assert_one_original(pair);
    }
    assert_eq!(app.effects("crowd").await.committed, 10);
}

async fn equal_bodies_under_other_keys_do_not_block(stage: &Stage) {
    if stage.backend() == Backend::Sqlite {
        // One writer: nothing runs beside anything.
        return;
    }
    let (left, right) = (stage.start().await, stage.start().await);
    let script = gated("gate");
    let running = [
        left.send_in_background(&ask("/account/script", "one", &script)),
        left.send_in_background(&ask("/account/script", "two", &script)),
        right.send_in_background(&ask("/account/script", "three", &script)),
    ];
    left.reached("gate", 2).await;
    right.reached("gate", 1).await;
    left.open_gate("gate").await;
    right.open_gate("gate").await;
    for answer in running {
        assert_eq!(answer.await.unwrap().status, 201);
    }
}

async fn an_expired_record_is_taken_over_once(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    assert_eq!(
        left.send(&ask("/account/script", "k", &marking("old")))
            .await
            .status,
        201
    );
    for round in 1..=3 {
        stage.database.expire_all().await;
        // Another body than yesterday's: an expired record is none.
        let label = format!("new{round}");
        let request = ask("/account/script", "k", &marking(&label));
        let answers = storm(&[&left, &right], 20, &request).await;
        assert_one_original(&answers);
        assert_eq!(stage.database.effects(&label).await, 1);
        assert!(settled(&left, &request).await.is_replay());
        assert_eq!(stage.database.records().await, 1);
    }
}

/// Whatever becomes of the records meanwhile, each effect has one original answer.
async fn deleted_records_never_let_a_handler_run_without_a_claim(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let is_over = Arc::new(AtomicBool::new(false));
    let deleting = async {
        while !is_over.load(Ordering::SeqCst) {
            stage.database.execute("DELETE FROM idempotency_keys").await;
        }
    };
    let asking = async {
        let request = ask("/account/script", "k", &marking("vanishing"));
        let mut answers = Vec::new();
        for _ in 0..10 {
            answers.extend(storm(&[&left, &right], 10, &request).await);
        }
        is_over.store(true, Ordering::SeqCst);
        answers
    };
    let (answers, ()) = tokio::join!(asking, deleting);
    let originals = answers
        .iter()
        .filter(|answer| answer.status == 201 && !answer.is_replay())
        .count();
    assert_eq!(
        stage.database.effects("vanishing").await,
        i64::try_from(originals).unwrap()
    );
    for answer in &answers {
        assert!(matches!(answer.status, 201 | 409), "{answer:?}");
    }
}

async fn remembered_errors_in_a_storm(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let script = json!({ "label": "refused", "status": 404, "body": "no such thing" });
    let request = ask("/account/script", "k", &script);
    let answers = storm(&[&left, &right], 40, &request).await;
    let is_in_flight = |answer: &Response| answer.code() == "idempotency-in-flight";
    let answered = answers.iter().filter(|answer| !is_in_flight(answer));
    for answer in answered {
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (404, "no such thing")
        );
    }
    assert!(settled(&left, &request).await.is_replay());
    assert_eq!(stage.database.records().await, 1);
    assert_eq!(stage.database.effects("refused").await, 0);
}

async fn failing_in_a_storm_frees_the_key(stage: &Stage) {
    let app = stage.start().await;
    let script = json!({ "label": "failing", "status": 503, "body": "later" });
    for answer in storm(&[&app], 20, &ask("/account/script", "k", &script)).await {
        assert!(matches!(answer.status, 409 | 503), "{answer:?}");
        assert!(!answer.is_replay());
    }
    assert_eq!(stage.database.records().await, 0);
    assert_runs(&app, "k", "better").await;
    assert_eq!(stage.database.effects("failing").await, 0);
}

/// Two that read and then write the same rows, both standing between read and write: no serial order. One is refused
/// by the database and run again, and nothing of its failed run is left.
async fn serialization_failures_are_run_again(stage: &Stage) {
    let app = stage.start().await;
    let script: Value =
        json!({ "label": "serial", "status": 201, "gate": "gate", "sleep_at": "before" });
    let keys = ["one", "two"];
    let running =
        keys.map(|key| app.send_in_background(&ask("/serializable/script", key, &script)));
    let at_once = if stage.backend() != Backend::Sqlite {
        2
    } else {
        1
    };
    app.reached("gate", at_once).await;
    app.open_gate("gate").await;
    for answer in running {
        let answer = answer.await.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    let effects = app.effects("serial").await;
    assert_eq!(effects.committed, 2);
    if stage.backend() != Backend::Sqlite {
        assert!(
            effects.entered > 2,
            "nothing failed: the test shows nothing"
        );
    }
    assert_eq!(stage.database.records().await, 2);
}

/// Another replay may hold the lock for a moment: the record outranks it.
async fn a_replay_in_progress_is_nothing_in_flight(stage: &Stage) {
    let (slow, proxy) = stage.start_behind_proxy().await;
    let app = stage.start().await;
    let request = ask("/account/script", "k", &marking("replayed"));
    let first = app.send(&request).await;
    // On a connection that is warm, so that lock and look leave together.
    assert_replay(&first, &slow.send(&request).await);
    proxy.clear();
    proxy.hold(Duration::from_millis(500));
    let replay = slow.send_in_background(&request);
    until("the replay holds the lock", || async {
        proxy
            .sent()
            .iter()
            .any(|one| one.sql.contains("FROM idempotency_keys"))
            .then_some(())
    })
    .await;
    assert_replay(&first, &app.send(&request).await);
    assert_replay(&first, &replay.await.unwrap());
}
