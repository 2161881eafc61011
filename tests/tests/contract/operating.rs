//! The store is down, the pool is exhausted, somebody reads the log.

use std::time::{Duration, Instant};

use diesel::SqliteConnection;
use diesel::connection::{Connection, SimpleConnection};
use idem_tests::{
    Backend, Launch, Proxy, Stage, asynchronous, in_both_styles, in_both_styles_on_servers,
    in_both_styles_on_sqlite,
};
use serde_json::json;

use crate::asking::{ask, assert_replay, assert_runs, gated, marking};

in_both_styles! {
    an_exhausted_pool,
    too_many_operations,
    the_log_names_no_key,
}

asynchronous! { an_exhausted_deadpool }

in_both_styles_on_servers! {
    the_store_is_down,
    no_handler_waits_for_a_second_connection,
}

in_both_styles_on_sqlite! {
    another_writer_holds_the_file,
    another_process_is_behind_the_busy_timeout,
}

async fn an_exhausted_pool(stage: &Stage) {
    exhausted(stage.app()).await;
}

async fn an_exhausted_deadpool(stage: &Stage) {
    exhausted(stage.app().argument("--deadpool")).await;
}

async fn exhausted(launch: Launch) {
    let app = launch
        .pool(1)
        .argument("--pool-timeout-ms")
        .argument("300")
        .start()
        .await;
    let request = ask("/account/script", "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let refused = app
        .send(&ask("/account/script", "other", &marking("other")))
        .await;
    refused.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(refused.header("Retry-After").is_some());
    assert_eq!(app.entered("other").await, 0);
    // The same key needs no connection to be told that it is in flight.
    assert_eq!(app.send(&request).await.status, 409);
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    assert_runs(&app, "other", "other").await;
}

async fn too_many_operations(stage: &Stage) {
    let app = stage
        .app()
        .argument("--max-operations")
        .argument("1")
        .start()
        .await;
    let first = app.send_in_background(&ask("/account/script", "k", &gated("gate")));
    app.reached("gate", 1).await;
    let refused = app
        .send(&ask("/account/script", "other", &marking("other")))
        .await;
    refused.assert_problem(503, "idempotency-store-unavailable", true);
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    assert_runs(&app, "other", "other").await;
    assert_eq!(app.entered("other").await, 1);
}

async fn the_store_is_down(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let app = stage
        .app()
        .database_url(proxy.url())
        .argument("--pool-timeout-ms")
        .argument("500")
        .start()
        .await;
    let recorded = ask("/account/script", "recorded", &marking("recorded"));
    let first = app.send(&recorded).await;
    assert_eq!(first.status, 201);
    proxy.take_down().await;
    for request in [
        ask("/account/script", "k", &marking("down")),
        recorded.clone(),
    ] {
        let answer = app.send(&request).await;
        answer.assert_problem(503, "idempotency-store-unavailable", true);
        assert!(answer.header("Retry-After").is_some());
    }
    assert_eq!(app.entered("down").await, 0);
    proxy.bring_up();
    let answer = idem_tests::until("the store is up again", || async {
        let answer = app
            .send(&ask("/account/script", "k", &marking("down")))
            .await;
        (answer.status != 503).then_some(answer)
    })
    .await;
    assert_eq!((answer.status, answer.is_replay()), (201, false));
    assert_replay(&first, &app.send(&recorded).await);
    assert_eq!(stage.database.effects("down").await, 1);
}

async fn no_handler_waits_for_a_second_connection(stage: &Stage) {
    let app = stage.app().pool(3).start().await;
    let running: Vec<_> = (0..3)
        .map(|index| {
            app.send_in_background(&ask(
                "/account/script",
                &format!("k{index}"),
                &gated("gate"),
            ))
        })
        .collect();
    app.reached("gate", 3).await;
    app.open_gate("gate").await;
    for answer in running {
        assert_eq!(answer.await.unwrap().status, 201);
    }
    let in_use = match stage.backend() {
        Backend::Mysql => {
            "SELECT count(*) FROM information_schema.processlist
             WHERE db = database() AND id <> connection_id()"
        }
        _ => {
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        }
    };
    // Those of the test itself end when their server finds out.
    idem_tests::until("no others are there", || async {
        (stage.database.number(in_use).await <= 3).then_some(())
    })
    .await;
}

/// Past the busy timeout of five seconds it is 503, and the handler was not entered.
async fn another_writer_holds_the_file(stage: &Stage) {
    let app = stage.start().await;
    let path = stage.database.url().strip_prefix("sqlite://").unwrap();
    let mut writer = SqliteConnection::establish(path).unwrap();
    writer.batch_execute("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let answer = app
        .send(&ask("/account/script", "k", &marking("held")))
        .await;
    answer.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(
        start.elapsed() > Duration::from_secs(1),
        "it did not even wait"
    );
    assert_eq!(app.entered("held").await, 0);
    writer.batch_execute("ROLLBACK").unwrap();
    assert_runs(&app, "k", "held").await;
}

/// One writer: another process cannot be told 409 at once. It waits, and its 503 is safe to retry.
async fn another_process_is_behind_the_busy_timeout(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    let request = ask("/account/script", "k", &gated("gate"));
    let first = left.send_in_background(&request);
    left.reached("gate", 1).await;
    right
        .send(&request)
        .await
        .assert_problem(503, "idempotency-store-unavailable", true);
    assert_eq!(right.entered("gate").await, 0);
    left.open_gate("gate").await;
    assert_replay(&first.await.unwrap(), &right.send(&request).await);
}

async fn the_log_names_no_key(stage: &Stage) {
    let app = stage
        .app()
        .environment("RUST_LOG", "idem_runtime=trace")
        .start()
        .await;
    let key = "geheim-0815";
    let running = app.send_in_background(&ask("/account/script", key, &gated("gate")));
    app.reached("gate", 1).await;
    assert_eq!(
        app.send(&ask("/account/script", key, &gated("gate")))
            .await
            .status,
        409
    );
    app.open_gate("gate").await;
    assert_eq!(running.await.unwrap().status, 201);
    assert!(
        app.send(&ask("/account/script", key, &gated("gate")))
            .await
            .is_replay()
    );
    assert_eq!(
        app.send(&ask("/account/script", key, &marking("other")))
            .await
            .status,
        422
    );
    for fail in ["panic", "err", "swallow", "endless"] {
        let script = json!({ "label": "failing", "fail": fail, "status": 201 });
        assert!(
            app.send(&ask("/account/script", &format!("{key}-{fail}"), &script))
                .await
                .status
                >= 500
        );
    }
    stage.database.refuse_to_record().await;
    assert!(
        app.send(&ask(
            "/account/script",
            &format!("{key}-2"),
            &marking("refused")
        ))
        .await
        .status
            >= 500
    );
    let log = app.log();
    assert!(log.contains("idem_runtime"), "the log says nothing: {log}");
    assert!(!log.contains("geheim"), "{log}");
    if stage.backend() != Backend::Sqlite {
        // Nor does its hexadecimal form, in which the record's statement spells it.
        assert!(!log.contains(&hex::encode("geheim")), "{log}");
    }
}
