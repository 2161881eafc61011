//! The process dies at every point: no effect without its record, no record without its effect.

use std::os::unix::process::ExitStatusExt;

use idem_tests::{App, Backend, Stage, in_both_styles};
use serde_json::{Value, json};

use crate::asking::{ask, assert_replay, marking, nothing_open, settled};

const SIGKILL: i32 = 9;
const FAR_TOO_MANY: u32 = 100;

in_both_styles! {
    killed_at_every_boundary,
    killed_at_every_boundary_of_a_warm_connection,
    killed_at_every_boundary_of_a_remembered_error,
    the_process_exits_in_the_handler,
    the_record_cannot_be_written,
    the_commit_fails,
}

async fn killed_at_every_boundary(stage: &Stage) {
    killed_cold(stage, 201).await;
}

async fn killed_at_every_boundary_of_a_remembered_error(stage: &Stage) {
    killed_cold(stage, 404).await;
}

/// Every process dies at its first request's next boundary.
async fn killed_cold(stage: &Stage, status: u16) {
    for at in 1..FAR_TOO_MANY {
        let victim = stage.start().await;
        let Some(script) = kill(stage, victim, at, status).await else {
            assert!(at > 6, "only {at} boundaries");
            return;
        };
        let restarted = stage.start().await;
        assert_recovers(stage, &restarted, at, &script).await;
    }
    panic!("never got through");
}

async fn killed_at_every_boundary_of_a_warm_connection(stage: &Stage) {
    let mut app = stage.app().pool(1).start().await;
    for at in 1..FAR_TOO_MANY {
        let warm = app
            .send(&ask(
                "/account/script",
                &format!("warm{at}"),
                &marking("warm"),
            ))
            .await;
        assert_eq!(warm.status, 201);
        let Some(script) = kill(stage, app, at, 201).await else {
            assert!(at > 4, "only {at} boundaries");
            return;
        };
        app = stage.app().pool(1).start().await;
        assert_recovers(stage, &app, at, &script).await;
    }
    panic!("never got through");
}

/// Lets the process die at a boundary; nothing if it answers before it comes to that one.
async fn kill(stage: &Stage, victim: App, at: u32, status: u16) -> Option<Value> {
    let script = json!({
        "label": format!("kill{at}"), "effects": 2, "status": status, "body": "done", "headers": [["X-At", "here"]],
    });
    victim.arm(at).await;
    let answer = victim
        .try_send(&ask("/account/script", &format!("kill{at}"), &script))
        .await;
    if let Ok(answer) = answer {
        assert_eq!(answer.status, status);
        return None;
    }
    assert_eq!(victim.ended().await.signal(), Some(SIGKILL));
    let found = both(stage, at).await;
    let whole = if status < 400 { "2:1" } else { "0:1" };
    assert!(
        found == "0:0" || found == whole,
        "effects and records at boundary {at}: {found}"
    );
    Some(script)
}

/// Effects and records, as one snapshot sees them.
async fn both(stage: &Stage, at: u32) -> String {
    let query = format!(
        "SELECT (SELECT count(*) FROM effects WHERE label = 'kill{at}') || ':' ||
                (SELECT count(*) FROM idempotency_keys WHERE \"key\" = 'kill{at}')"
    );
    stage.database.text(&query).await.expect("a row")
}

async fn assert_recovers(stage: &Stage, app: &App, at: u32, script: &Value) {
    let request = ask("/account/script", &format!("kill{at}"), script);
    let retry = settled(app, &request).await;
    assert_eq!(
        u64::from(retry.status),
        script["status"].as_u64().unwrap(),
        "{}",
        retry.text()
    );
    assert_eq!(
        (retry.text().as_str(), retry.header("X-At")),
        ("done", Some("here"))
    );
    let again = app.send(&request).await;
    assert!(again.is_replay());
    assert_eq!(again.comparable(), retry.comparable());
    let whole = if retry.status < 400 { "2:1" } else { "0:1" };
    assert_eq!(both(stage, at).await, whole, "boundary {at}");
}

async fn the_process_exits_in_the_handler(stage: &Stage) {
    let app = stage.start().await;
    let script = json!({ "label": "exit", "fail": "exit" });
    assert!(
        app.try_send(&ask("/account/script", "k", &script))
            .await
            .is_err()
    );
    assert_eq!(app.ended().await.code(), Some(3));
    nothing_open(stage).await;
    let app = stage.start().await;
    // Nothing is left, not even what the key was used for.
    let other = settled(&app, &ask("/account/script", "k", &marking("other"))).await;
    assert_eq!((other.status, other.is_replay()), (201, false));
    assert_eq!(stage.database.effects("exit").await, 0);
}

async fn the_record_cannot_be_written(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    for status in [201, 404] {
        let label = format!("unrecorded{status}");
        let request = ask(
            "/account/script",
            &label,
            &json!({ "label": label, "status": status }),
        );
        stage.database.refuse_to_record().await;
        let failed = app.send(&request).await;
        assert!(failed.status >= 500, "{failed:?}");
        assert_eq!(failed.json()["retryable"], true);
        assert_eq!(stage.database.effects(&label).await, 0);
        assert_eq!(stage.database.open_transactions().await, 0);
        stage.database.let_record().await;
        let retry = app.send(&request).await;
        assert_eq!((retry.status, retry.is_replay()), (status, false));
        assert_replay(&retry, &app.send(&request).await);
    }
    assert_eq!(stage.database.effects("unrecorded201").await, 1);
    assert_eq!(stage.database.effects("unrecorded404").await, 0);
    assert_eq!(stage.database.records().await, 2);
}

/// A deferred constraint is checked at COMMIT: everything is known to be rolled back.
async fn the_commit_fails(stage: &Stage) {
    if stage.backend() == Backend::Mysql {
        // Nothing is deferred there.
        return;
    }
    let app = stage.app().pool(1).start().await;
    stage
        .database
        .execute(
            "CREATE TABLE parents (id BIGINT PRIMARY KEY);
             CREATE TABLE children (parent BIGINT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);",
        )
        .await;
    let script =
        json!({ "label": "deferred", "sql": "INSERT INTO children VALUES (1)", "status": 201 });
    let request = ask("/account/script", "k", &script);
    app.send(&request)
        .await
        .assert_problem(500, "handler-failed", true);
    assert_eq!(stage.database.effects("deferred").await, 0);
    assert_eq!(stage.database.records().await, 0);
    assert_eq!(stage.database.open_transactions().await, 0);
    stage
        .database
        .execute("INSERT INTO parents VALUES (1)")
        .await;
    let retry = app.send(&request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, false));
    assert_eq!(stage.database.effects("deferred").await, 1);
}
