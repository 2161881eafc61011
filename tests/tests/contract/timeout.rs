//! A handler that takes too long.

use std::time::{Duration, Instant};

use idem_tests::{App, Backend, Stage, asynchronous, in_both_styles, until};
use serde_json::json;

use crate::asking::{ask, gated, marking, nothing_open};

in_both_styles! {
    a_late_response,
}

asynchronous! {
    a_late_handler_leaves_nothing,
    a_late_handler_leaves_nothing_with_deadpool,
    a_late_statement,
}

async fn a_late_handler_leaves_nothing(stage: &Stage) {
    late(stage, stage.app().pool(1).start().await).await;
}

async fn a_late_handler_leaves_nothing_with_deadpool(stage: &Stage) {
    late(
        stage,
        stage.app().pool(1).argument("--deadpool").start().await,
    )
    .await;
}

async fn late(stage: &Stage, app: App) {
    let request = ask("/brief/script", "k", &gated("gate"));
    app.send(&request)
        .await
        .assert_problem(504, "handler-failed", true);
    assert_eq!(stage.database.effects("gate").await, 0);
    assert_eq!(stage.database.records().await, 0);
    nothing_open(stage).await;
    app.open_gate("gate").await;
    let retry = app.send(&request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, false));
    assert_eq!(stage.database.effects("gate").await, 1);
}

/// PostgreSQL stops the statement; SQLite cannot, and rolls back behind it.
async fn a_late_statement(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let long = match stage.backend() {
        Backend::Postgres => "SELECT pg_sleep(60)",
        Backend::Mysql => "SELECT sleep(60)",
        Backend::Sqlite => {
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 8000000)
             SELECT count(*) FROM numbers"
        }
    };
    let start = Instant::now();
    let script = json!({ "label": "late", "sql": long });
    app.send(&ask("/brief/script", "k", &script))
        .await
        .assert_problem(504, "handler-failed", true);
    let next = app
        .send(&ask("/account/script", "k2", &marking("next")))
        .await;
    assert_eq!(next.status, 201, "{}", next.text());
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "the statement was waited for"
    );
    assert_eq!(stage.database.effects("late").await, 0);
    let running = match stage.backend() {
        Backend::Postgres => {
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND state = 'active' AND query LIKE 'SELECT pg_sleep%'"
        }
        Backend::Mysql => {
            "SELECT count(*) FROM information_schema.processlist
             WHERE db = database() AND info LIKE 'SELECT sleep%'"
        }
        Backend::Sqlite => return,
    };
    until("the statement is stopped", || async {
        (stage.database.number(running).await == 0).then_some(())
    })
    .await;
}

/// A body that stops coming is one without an end, and the time for the handler is the time for its body too.
async fn a_late_response(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let start = Instant::now();
    let script = json!({ "label": "stalled", "fail": "stalled", "body": "some" });
    app.send(&ask("/brief/script", "k", &script))
        .await
        .assert_problem(500, "response-not-storable", false);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(stage.database.effects("stalled").await, 0);
    let next = app
        .send(&ask("/account/script", "k2", &marking("next")))
        .await;
    assert_eq!(next.status, 201);
}
