//! What is different where handlers block: a thread cannot be stopped, and there are only so many.

use std::time::{Duration, Instant};

use futures_util::future::select_all;
use idem_tests::{
    App, Backend, Stage, all_at_once, blocking, blocking_on_postgres, on_postgres, on_sqlite, send,
    until,
};
use serde_json::json;
use tokio::time::timeout;

use crate::asking::{
    ask, assert_in_flight, assert_one_original, assert_replay, assert_runs, gated, marking,
    nothing_open, settled,
};

on_postgres! { a_blocking_handler_among_others }
on_sqlite! { a_blocking_handler_among_others }

blocking! {
    a_late_handler_is_rolled_back_behind_its_end,
    a_late_handler_keeps_its_key,
    a_late_handler_keeps_its_place,
    a_late_statement_is_rolled_back_behind_its_end,
    one_thread_is_enough,
    waiting_requests_leave_the_threads_to_others,
    a_handler_of_the_application_takes_every_thread,
    a_response_that_needs_the_runtime,
    an_error_keeps_its_response,
}

blocking_on_postgres! { one_statement_after_the_other }

/// `/blocking/script` stands beside `async` handlers, over a pool of its own and the same table.
async fn a_blocking_handler_among_others(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let request = ask("/blocking/script", "k", &marking("blocking"));
    let first = app.send(&request).await;
    assert_eq!((first.status, first.text().as_str()), (201, "done"));
    assert_replay(&first, &app.send(&request).await);
    let elsewhere = ask("/account/script", "k", &marking("blocking"));
    assert_eq!(app.send(&elsewhere).await.code(), "idempotency-key-reused");
    let gate = ask("/blocking/script", "gate", &gated("gate"));
    let running = app.send_in_background(&gate);
    app.reached("gate", 1).await;
    assert_in_flight(&app.send(&gate).await);
    app.open_gate("gate").await;
    assert_replay(&running.await.unwrap(), &app.send(&gate).await);
    assert_eq!(stage.database.effects("blocking").await, 1);
    assert_eq!(stage.database.records().await, 2);
}

async fn a_late_handler_is_rolled_back_behind_its_end(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let request = ask("/brief/script", "k", &gated("gate"));
    let start = Instant::now();
    app.send(&request)
        .await
        .assert_problem(504, "handler-failed", true);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it was waited for"
    );
    app.open_gate("gate").await;
    nothing_open(stage).await;
    assert_eq!(stage.database.effects("gate").await, 0);
    assert_eq!(stage.database.records().await, 0);
    let retry = settled(&app, &request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, false));
    assert_eq!(stage.database.effects("gate").await, 1);
}

/// Until its thread has come to the end of it, nobody else runs the operation.
async fn a_late_handler_keeps_its_key(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    let request = ask("/brief/script", "k", &gated("gate"));
    app.send(&request)
        .await
        .assert_problem(504, "handler-failed", true);
    for process in [&app, &other] {
        let retry = process.send(&request).await;
        match stage.backend() {
            Backend::Mysql | Backend::Postgres => assert_in_flight(&retry),
            // It has the write lock, and nobody can tell whose that is.
            Backend::Sqlite => {
                retry.assert_problem(503, "idempotency-store-unavailable", true);
            }
        }
    }
    assert_eq!(
        (app.entered("gate").await, other.entered("gate").await),
        (1, 0)
    );
    app.open_gate("gate").await;
    other.open_gate("gate").await;
    let retry = settled(&other, &request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, false));
    assert_eq!(stage.database.effects("gate").await, 1);
}

async fn a_late_statement_is_rolled_back_behind_its_end(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let long = match stage.backend() {
        Backend::Postgres => "SELECT pg_sleep(2)",
        Backend::Mysql => "SELECT sleep(2)",
        Backend::Sqlite => {
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 8000000)
             SELECT count(*) FROM numbers"
        }
    };
    let script = json!({ "label": "late", "sql": long });
    app.send(&ask("/brief/script", "k", &script))
        .await
        .assert_problem(504, "handler-failed", true);
    // The only connection comes back when the statement is over.
    let next = until("there is a connection again", || async {
        let next = app
            .send(&ask("/account/script", "k2", &marking("next")))
            .await;
        (next.status != 503).then_some(next)
    })
    .await;
    assert_eq!(next.status, 201, "{}", next.text());
    assert_eq!(stage.database.effects("late").await, 0);
}

/// Whoever has a connection has its thread: those that wait for one cannot keep it from working.
async fn one_thread_is_enough(stage: &Stage) {
    let launch = stage.app().pool(4).workers(1);
    let app = launch.argument("--blocking-threads=1").start().await;
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
    assert_eq!(stage.database.effects("crowd").await, 10);
}

/// One connection, two threads, and so many operations at once.
async fn crowded(stage: &Stage, operations: usize) -> App {
    stage
        .app()
        .pool(1)
        .workers(1)
        .argument("--blocking-threads=2")
        .argument("--pool-timeout-ms=60000")
        .argument(&format!("--max-operations={operations}"))
        .start()
        .await
}

/// On a thread of the same runtime, while they wait.
async fn assert_others_get_on(app: &App) {
    let other = idem_tests::Request::get("/on-a-thread");
    let other = timeout(Duration::from_secs(20), app.send(&other)).await;
    assert_eq!(other.expect("an answer while others wait").status, 200);
}

/// As many threads wait for a connection as there are connections, and no more.
async fn waiting_requests_leave_the_threads_to_others(stage: &Stage) {
    const WAITING: usize = 10;
    let app = crowded(stage, 6).await;
    let gate = ask("/account/script", "k", &gated("gate"));
    let first = app.send_in_background(&gate);
    app.reached("gate", 1).await;
    // There are places for half of them; the others try again.
    let address = app.address();
    let waiting: Vec<_> = (0..WAITING)
        .map(|index| {
            let key = format!("waiting{index}");
            let request = ask("/account/script", &key, &marking("waiting"));
            tokio::spawn(until("it is done", move || {
                let request = request.clone();
                async move {
                    let answer = send(address, &request).await.expect("an answer");
                    (answer.status != 503).then_some(answer)
                }
            }))
        })
        .collect();
    // A duplicate of the first needs no connection, only a place among the operations.
    until("all places are taken", || async {
        (app.send(&gate).await.status == 503).then_some(())
    })
    .await;
    assert_others_get_on(&app).await;
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    for answer in waiting {
        assert_eq!(answer.await.unwrap().status, 201);
    }
}

/// Nobody waits on a thread for the connection of a handler that is not waited for any more.
async fn a_late_handler_keeps_its_place(stage: &Stage) {
    const PLACES: usize = 5;
    let app = crowded(stage, PLACES).await;
    let late = ask("/brief/script", "late", &gated("gate"));
    assert_eq!(app.send(&late).await.status, 504);
    let more: Vec<_> = (0..=PLACES)
        .map(|index| ask("/account/script", &format!("k{index}"), &marking("waiting")))
        .map(|request| app.send_in_background(&request))
        .collect();
    let (one_too_many, _, waiting) = select_all(more).await;
    assert_eq!(one_too_many.unwrap().status, 503);
    assert_others_get_on(&app).await;
    app.open_gate("gate").await;
    for answer in waiting {
        assert_eq!(answer.await.unwrap().status, 201);
    }
}

/// The application's own handlers wait for the same pool on all threads that there are: who has the connection gets on.
async fn a_handler_of_the_application_takes_every_thread(stage: &Stage) {
    let app = stage
        .app()
        .pool(1)
        .workers(1)
        .argument("--blocking-threads=2")
        .start()
        .await;
    let first = app.send_in_background(&ask("/account/script", "k", &gated("gate")));
    app.reached("gate", 1).await;
    let others: Vec<_> = (0..4)
        .map(|_| app.send_in_background(&idem_tests::Request::get("/on-a-thread?pooled=true")))
        .collect();
    until("the last thread is taken", || async {
        (app.entered("/on-a-thread").await > 0).then_some(())
    })
    .await;
    app.open_gate("gate").await;
    assert_eq!(first.await.unwrap().status, 201);
    for answer in others {
        assert_eq!(answer.await.unwrap().status, 200);
    }
}

/// A stream that waits for timers and tasks of the runtime is read on the handler's thread.
async fn a_response_that_needs_the_runtime(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let script = json!({ "label": "slow", "status": 201, "fail": "slow", "body": "in pieces" });
    let request = ask("/account/script", "k", &script);
    let first = app.send(&request).await;
    assert_eq!((first.status, first.text().as_str()), (201, "in pieces"));
    assert_replay(&first, &app.send(&request).await);
}

async fn an_error_keeps_its_response(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let script = json!({
        "label": "refused", "status": 409, "fail": "err", "body": "no", "headers": [["X-Why", "stock"]],
    });
    let request = ask("/account/script", "k", &script);
    let first = app.send(&request).await;
    assert_eq!((first.status, first.text().as_str()), (409, "no"));
    assert_eq!(first.header("X-Why"), Some("stock"));
    assert_replay(&first, &app.send(&request).await);
    assert_eq!(stage.database.effects("refused").await, 0);
}

/// What an `async` handler's connection sends in two round trips, besides the work.
async fn one_statement_after_the_other(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_runs(&app, "warm", "warm").await;
    proxy.clear();
    assert_runs(&app, "k", "work").await;
    let sent: Vec<_> = proxy.sent().into_iter().map(|sent| sent.sql).collect();
    let begins = [
        "BEGIN",
        "SELECT CASE WHEN pg_try_advisory_xact_lock",
        "SELECT scope, key",
        "INSERT INTO \"effects\"",
        "INSERT INTO idempotency_keys",
        "COMMIT",
    ];
    assert_eq!(sent.len(), begins.len(), "{sent:#?}");
    for (sql, begin) in sent.iter().zip(begins) {
        assert!(sql.starts_with(begin), "{begin}: {sent:#?}");
    }
}
