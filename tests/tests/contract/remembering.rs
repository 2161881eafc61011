//! What leaves a record, what leaves nothing, and for how long.

use std::time::{Duration, Instant};

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use idem_tests::{App, Backend, Request, Stage, in_both_styles, in_both_styles_on_postgres, until};
use serde_json::{Value, json};

use crate::asking::{ask, assert_replay, assert_runs, marking};

in_both_styles! {
    an_err_rolls_back,
    a_domain_error_is_recorded_without_its_effects,
    a_panic_leaves_nothing,
    a_swallowed_error_is_not_a_success,
    an_error_of_the_database,
    a_refused_body_leaves_the_key_unused,
    yesterdays_acceptance_outlives_todays_validation,
    a_refused_body_never_replays_another,
    records_expire,
    an_expired_key_is_free,
    what_the_table_shows,
}

in_both_styles_on_postgres! { an_error_is_told_as_it_was_recorded_although_its_expired_record_was_pruned_meanwhile }

async fn an_err_rolls_back(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let script = json!({ "label": "err", "fail": "err", "status": 201, "body": "sorry" });
    let request = ask("/account/script", "k", &script);
    for _ in 0..2 {
        let answer = app.send(&request).await;
        assert_eq!(
            (answer.status, answer.text().as_str(), answer.is_replay()),
            (500, "sorry", false)
        );
    }
    assert_clean(stage, &app, "err").await;
}

async fn a_domain_error_is_recorded_without_its_effects(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for fail in [json!(null), json!("err")] {
        let script = json!({ "label": "domain", "fail": fail, "status": 402, "body": "no funds" });
        let request = ask(
            "/account/script",
            &format!("k{fail}").replace('"', ""),
            &script,
        );
        let first = app.send(&request).await;
        assert_eq!((first.status, first.text().as_str()), (402, "no funds"));
        assert_replay(&first, &app.send(&request).await);
    }
    let effects = app.effects("domain").await;
    assert_eq!((effects.committed, effects.entered), (0, 2));
    assert_eq!(stage.database.records().await, 2);
}

async fn a_panic_leaves_nothing(stage: &Stage) {
    let app = stage.app().pool(1).workers(1).start().await;
    for path in ["/account/script", "/all/script"] {
        let script = json!({ "label": "panic", "fail": "panic", "status": 201 });
        app.send(&ask(path, "k", &script))
            .await
            .assert_problem(500, "handler-failed", true);
    }
    assert_clean(stage, &app, "panic").await;
}

async fn a_swallowed_error_is_not_a_success(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    // Elsewhere the transaction was gone before the handler was through: what it wrote afterwards is committed.
    let is_retryable = stage.backend() == Backend::Postgres;
    for status in [200, 201, 302] {
        let script =
            json!({ "label": "swallow", "fail": "swallow", "status": status, "body": "fine" });
        app.send(&ask("/account/script", "k", &script))
            .await
            .assert_problem(500, "handler-failed", is_retryable);
    }
    // Without a key there is no record, but an effect that is not there is not there either.
    let script = json!({ "label": "swallow", "fail": "swallow", "status": 201 });
    let without = Request::post("/optional/script")
        .bearer("acme:one")
        .json(&script);
    assert_eq!(app.send(&without).await.status, 500);
    assert_clean(stage, &app, "swallow").await;
}

async fn an_error_of_the_database(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let script = json!({ "label": "broken", "sql": "INSERT INTO nowhere VALUES (1)" });
    let answer = app.send(&ask("/account/script", "k", &script)).await;
    assert_eq!((answer.status, answer.is_replay()), (500, false));
    assert_clean(stage, &app, "broken").await;
}

/// Nothing of the label is left, the pool is healthy, and the key can be used for something else.
async fn assert_clean(stage: &Stage, app: &App, label: &str) {
    assert_eq!(stage.database.effects(label).await, 0);
    assert_eq!(stage.database.records().await, 0);
    assert_eq!(stage.database.open_transactions().await, 0);
    let answer = app
        .send(&ask("/account/script", "k", &marking("after")))
        .await;
    assert_eq!(
        (answer.status, answer.is_replay()),
        (201, false),
        "{}",
        answer.text()
    );
    assert_eq!(stage.database.effects("after").await, 1);
}

async fn a_refused_body_leaves_the_key_unused(stage: &Stage) {
    let app = stage.start().await;
    let refused = [
        Request::post("/account/script").typed("application/json", "{\"label\": "),
        Request::post("/account/script").typed("application/json", "{}"),
        Request::post("/account/script").typed("text/plain", "hello"),
        Request::post("/account/script"),
    ];
    for request in refused {
        let answer = app.send(&request.bearer("acme:one").key("k")).await;
        assert!(matches!(answer.status, 400 | 415), "{answer:?}");
    }
    assert_eq!(stage.database.records().await, 0);
    let corrected = app
        .send(&ask("/account/script", "k", &marking("corrected")))
        .await;
    assert_eq!((corrected.status, corrected.is_replay()), (201, false));
}

async fn yesterdays_acceptance_outlives_todays_validation(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/fussy/script", "k", &marking("fussy"));
    let first = app.send(&request).await;
    assert_eq!(first.status, 201);
    let refuse = |refuse: bool| Request::post(&format!("/fussy?refuse={refuse}"));
    app.send(&refuse(true)).await;
    assert_replay(&first, &app.send(&request).await);
    // Without a record there is nothing to replay: the refusal stands and leaves the key unused.
    let fresh = ask("/fussy/script", "fresh", &marking("fussy"));
    assert_eq!(app.send(&fresh).await.status, 422);
    // Nor is what has expired.
    stage.database.expire_all().await;
    assert_eq!(app.send(&request).await.status, 422);
    app.send(&refuse(false)).await;
    assert_eq!(app.send(&fresh).await.status, 201);
    assert_eq!(app.effects("fussy").await.entered, 2);
}

async fn a_refused_body_never_replays_another(stage: &Stage) {
    let app = stage.start().await;
    assert_runs(&app, "k", "good").await;
    let broken = Request::post("/account/script")
        .bearer("acme:one")
        .key("k")
        .typed("application/json", "{");
    let answer = app.send(&broken).await;
    assert!(matches!(answer.status, 400 | 422), "{answer:?}");
    assert!(!answer.is_replay());
}

async fn records_expire(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/brief/script", "k", &marking("brief"));
    let start = Instant::now();
    let first = app.send(&request).await;
    assert_replay(&first, &app.send(&request).await);
    let second = until("the record expires", || async {
        let answer = app.send(&request).await;
        (!answer.is_replay()).then_some(answer)
    })
    .await;
    let lived = start.elapsed();
    assert_eq!(second.status, 201);
    assert!(
        lived > Duration::from_millis(1900) && lived < Duration::from_secs(6),
        "{lived:?}"
    );
    assert_eq!(stage.database.effects("brief").await, 2);
    assert_eq!(stage.database.records().await, 1);
}

async fn an_expired_key_is_free(stage: &Stage) {
    let app = stage.start().await;
    let scripts: [Value; 3] = [
        marking("first"),
        json!({ "label": "second", "status": 404 }),
        marking("third"),
    ];
    for script in scripts {
        let request = ask("/account/script", "k", &script);
        let first = app.send(&request).await;
        assert_replay(&first, &app.send(&request).await);
        stage.database.expire_all().await;
    }
    for (label, count) in [("first", 1), ("second", 0), ("third", 1)] {
        assert_eq!(stage.database.effects(label).await, count, "{label}");
    }
    assert_eq!(stage.database.records().await, 1);
}

/// A person with a shell finds what they look for.
async fn what_the_table_shows(stage: &Stage) {
    let app = stage.start().await;
    let script =
        json!({ "label": "shown", "status": 201, "body": "done", "headers": [["X-Note", "seen"]] });
    assert_eq!(
        app.send(&ask("/account/script", "my-key", &script))
            .await
            .status,
        201
    );
    let look = |what: &'static str| async move {
        let query = format!("SELECT {what} FROM idempotency_keys WHERE \"key\" = 'my-key'");
        stage.database.text(&query).await.expect("a value")
    };
    assert_eq!(look("status").await, "201");
    assert!(look("scope").await.contains("acme"));
    assert!(look("endpoint").await.contains("/account/script"));
    assert!(look("headers").await.to_lowercase().contains("x-note"));
    assert_eq!(look("length(body)").await, "4");
    assert_eq!(look("count(recorded_at) + count(expires_at)").await, "2");
    assert_eq!(look("count(owner) + count(lease_expires_at)").await, "0");
}

/// The removal of the expired record meets a pruner and fails; the record behind it does not.
async fn an_error_is_told_as_it_was_recorded_although_its_expired_record_was_pruned_meanwhile(
    stage: &Stage,
) {
    let database = &stage.database;
    drop(stage.start().await);
    let strict = "DO $$ BEGIN EXECUTE format(
        'ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''',
        current_database()); END $$";
    database.execute(strict).await;
    let app = stage.start().await;
    let script = json!({ "label": "domain", "status": 402, "body": "no funds" });
    let request = ask("/account/script", "k", &script);
    app.send(&request).await;
    database.expire_all().await;
    let mut pruner = AsyncPgConnection::establish(database.url()).await.unwrap();
    let prune = "BEGIN; DELETE FROM idempotency_keys";
    pruner.batch_execute(prune).await.unwrap();
    let answer = app.send_in_background(&request);
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until("the removal waits", async || {
        (database.number(waiting).await == 1).then_some(())
    })
    .await;
    pruner.batch_execute("COMMIT").await.unwrap();
    let answer = answer.await.unwrap();
    assert_eq!((answer.status, answer.is_replay()), (402, false));
    assert_replay(&answer, &app.send(&request).await);
}
