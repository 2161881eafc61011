//! The same key again: later, at once, and while the first attempt is running.

use idem_tests::{Backend, Stage, in_both_styles, in_both_styles_on_servers};
use serde_json::json;

use crate::asking::{
    ask, assert_in_flight, assert_one_original, assert_replay, assert_reused, gated, marking,
    settled, storm,
};

in_both_styles! {
    same_key_twice,
    fifty_at_once_in_one_process,
    fifty_at_once_over_two_processes,
    other_body,
    other_body_in_flight,
    second_during_the_first_is_refused_at_once,
    waiting_for_the_first,
    waiting_in_vain,
    replays_at_once_are_all_replays,
    another_key_is_another_operation,
    tenants_do_not_block_each_other,
}

in_both_styles_on_servers! {
    second_in_another_process_is_refused_at_once,
    other_body_in_flight_in_another_process,
    waiting_for_another_process,
}

async fn same_key_twice(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/account/script", "k", &marking("twice"));
    let first = app.send(&request).await;
    assert_eq!((first.status, first.text().as_str()), (201, "done"));
    let second = app.send(&request).await;
    assert_replay(&first, &second);
    let effects = app.effects("twice").await;
    assert_eq!((effects.committed, effects.entered), (1, 1));
    assert_eq!(stage.database.records().await, 1);
}

async fn fifty_at_once_in_one_process(stage: &Stage) {
    let app = stage.start().await;
    for round in 0..3 {
        let label = format!("storm{round}");
        let request = ask("/account/script", &label, &marking(&label));
        let answers = storm(&[&app], 50, &request).await;
        assert_one_original(&answers);
        assert_eq!(stage.database.effects(&label).await, 1);
        assert!(settled(&app, &request).await.is_replay());
    }
}

async fn fifty_at_once_over_two_processes(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    for round in 0..3 {
        let label = format!("storm{round}");
        let request = ask("/account/script", &label, &marking(&label));
        let answers = storm(&[&left, &right], 50, &request).await;
        assert_one_original(&answers);
        assert_eq!(stage.database.effects(&label).await, 1);
        assert!(settled(&right, &request).await.is_replay());
    }
}

async fn other_body(stage: &Stage) {
    let app = stage.start().await;
    let first = app
        .send(&ask("/account/script", "k", &marking("one")))
        .await;
    assert_eq!(first.status, 201);
    let other = app
        .send(&ask("/account/script", "k", &marking("other")))
        .await;
    assert_reused(&other);
    assert_eq!(app.effects("other").await.entered, 0);
    assert_eq!(stage.database.effects("one").await, 1);
    assert_eq!(stage.database.records().await, 1);
}

async fn other_body_in_flight(stage: &Stage) {
    let app = stage.start().await;
    let first = app.send_in_background(&ask("/account/script", "k", &gated("gate")));
    app.reached("gate", 1).await;
    assert_reused(
        &app.send(&ask("/account/script", "k", &marking("other")))
            .await,
    );
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    assert_reused(
        &app.send(&ask("/account/script", "k", &marking("other")))
            .await,
    );
    assert_eq!(app.effects("other").await.entered, 0);
}

async fn second_during_the_first_is_refused_at_once(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/account/script", "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    // The gate is still closed: an answer now is an answer at once.
    assert_in_flight(&app.send(&request).await);
    app.open_gate("gate").await;
    let first = first.await.unwrap();
    assert_replay(&first, &settled(&app, &request).await);
    let effects = app.effects("gate").await;
    assert_eq!((effects.committed, effects.entered), (1, 1));
}

async fn waiting_for_the_first(stage: &Stage) {
    // One connection for the first, and on PostgreSQL one for another key: those who wait have none.
    let app = stage.app().pool(2).start().await;
    let request = ask("/wait/script", "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let waiting: Vec<_> = (0..10).map(|_| app.send_in_background(&request)).collect();
    if stage.backend() != Backend::Sqlite {
        let other = app
            .send(&ask("/account/script", "other", &marking("other")))
            .await;
        assert_eq!(other.status, 201);
    }
    assert_reused(
        &app.send(&ask("/wait/script", "k", &marking("other body")))
            .await,
    );
    app.open_gate("gate").await;
    let first = first.await.unwrap();
    for waiter in waiting {
        assert_replay(&first, &waiter.await.unwrap());
    }
    assert_eq!(app.effects("gate").await.entered, 1);
}

async fn waiting_in_vain(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/wait/script", "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    assert_in_flight(&app.send(&request).await);
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
}

async fn replays_at_once_are_all_replays(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let request = ask("/account/script", "k", &marking("replays"));
    let first = left.send(&request).await;
    for answer in storm(&[&left, &right], 50, &request).await {
        assert_replay(&first, &answer);
    }
}

async fn another_key_is_another_operation(stage: &Stage) {
    let app = stage.start().await;
    let script = marking("same body");
    for key in ["one", "other"] {
        let answer = app.send(&ask("/account/script", key, &script)).await;
        assert_eq!((answer.status, answer.is_replay()), (201, false));
    }
    assert_eq!(stage.database.effects("same body").await, 2);
}

async fn tenants_do_not_block_each_other(stage: &Stage) {
    let app = stage.start().await;
    let request = ask(
        "/account/script",
        "k",
        &json!({ "label": "gate", "gate": "gate", "sleep_at": "before" }),
    );
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    // SQLite has one writer, so there another tenant only waits for the lock: 409 would be the mistake.
    let other = idem_tests::Request::post("/account/script")
        .bearer("other:one")
        .key("k")
        .json(&marking("other"));
    let other = app.send_in_background(&other);
    if stage.backend() == Backend::Sqlite {
        app.open_gate("gate").await;
    }
    assert_eq!(other.await.unwrap().status, 201);
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 200);
    assert_eq!(stage.database.records().await, 2);
}

async fn second_in_another_process_is_refused_at_once(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let request = ask("/account/script", "k", &gated("gate"));
    let first = left.send_in_background(&request);
    left.reached("gate", 1).await;
    assert_in_flight(&right.send(&request).await);
    left.open_gate("gate").await;
    assert_replay(&first.await.unwrap(), &settled(&right, &request).await);
    assert_eq!(right.effects("gate").await.entered, 0);
}

async fn other_body_in_flight_in_another_process(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let first = left.send_in_background(&ask("/account/script", "k", &gated("gate")));
    left.reached("gate", 1).await;
    assert_reused(
        &right
            .send(&ask("/account/script", "k", &marking("other")))
            .await,
    );
    // An equal body under another key is nobody's business.
    let free = right
        .send(&ask("/account/script", "k2", &marking("free")))
        .await;
    assert_eq!(free.status, 201);
    left.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(stage.database.effects("other").await, 0);
}

async fn waiting_for_another_process(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let request = ask("/wait/script", "k", &gated("gate"));
    let first = left.send_in_background(&request);
    left.reached("gate", 1).await;
    let waiting: Vec<_> = (0..5).map(|_| right.send_in_background(&request)).collect();
    left.open_gate("gate").await;
    let first = first.await.unwrap();
    for waiter in waiting {
        assert_replay(&first, &waiter.await.unwrap());
    }
    assert_eq!(right.effects("gate").await.entered, 0);
}
