//! `unresolved = "hold"`: nobody runs an operation again of which nobody knows how it ended.

use std::time::{Duration, Instant};

use idem_tests::{Request, Stage, on_all};
use serde_json::json;

use super::{
    BACKGROUND, HOLD, RERUN, STEPS, assert_failed, assert_original, assert_unresolved, strand, with,
};
use crate::asking::{
    ask, assert_in_flight, assert_one_original, assert_replay, assert_reused, assert_runs, gated,
    marking, settled, storm,
};

on_all! {
    a_finished_operation_is_replayed,
    a_second_is_refused_while_the_first_runs,
    waiting_for_the_first,
    fifty_at_once_over_two_processes,
    no_connection_is_held_while_a_handler_runs,
    a_refusal_never_claims,
    a_stranded_operation_is_held,
    a_failed_handler_leaves_the_outcome_open,
    a_late_handler_leaves_the_outcome_open,
    an_answer_that_is_not_recorded_frees_the_key,
    a_domain_error_is_recorded,
    hanging_up,
    tenants_have_keys_of_their_own,
    a_lease_of_null_never_runs_out,
    a_pending_row_never_expires,
    a_response_that_cannot_be_stored,
    the_claim_cannot_be_written,
    the_record_cannot_be_written,
}

async fn a_finished_operation_is_replayed(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    for path in [HOLD, RERUN, STEPS, BACKGROUND, "/accept/script"] {
        let script = json!({ "label": path, "status": 201, "body": "done", "call": true, "headers": [["X-At", "here"]] });
        let request = ask(path, path, &script);
        let first = app.send(&request).await;
        assert_original(&first);
        assert_eq!(first.header("X-At"), Some("here"));
        assert_replay(&first, &app.send(&request).await);
        assert_replay(&first, &other.send(&request).await);
        assert_reused(&other.send(&ask(path, path, &marking("other"))).await);
    }
    let effects = other.effects(HOLD).await;
    assert_eq!((effects.committed, effects.entered), (1, 0));
    assert_eq!(effects.calls.into_values().collect::<Vec<_>>(), [1]);
    assert_eq!(stage.database.pending().await, 0);
}

/// Also in another process, and on SQLite too: the claim is there for all to see.
async fn a_second_is_refused_while_the_first_runs(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    for path in [HOLD, RERUN, STEPS] {
        let request = ask(path, path, &gated(path));
        let first = app.send_in_background(&request);
        app.reached(path, 1).await;
        for process in [&app, &other] {
            assert_in_flight(&process.send(&request).await);
            assert_reused(&process.send(&ask(path, path, &marking("other"))).await);
        }
        app.open_gate(path).await;
        let first = first.await.unwrap();
        assert_original(&first);
        assert_replay(&first, &other.send(&request).await);
        assert_eq!(other.entered(path).await, 0);
    }
}

async fn waiting_for_the_first(stage: &Stage) {
    let (app, other) = (stage.app().pool(2).start().await, stage.start().await);
    let request = ask("/patient/script", "k", &gated("gate"));
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    let waiting: Vec<_> = (0..10)
        .map(|index| [&app, &other][index % 2].send_in_background(&request))
        .collect();
    // Those who wait have no connection.
    assert_runs(&app, "free", "free").await;
    app.open_gate("gate").await;
    let first = first.await.unwrap();
    assert_original(&first);
    for waiter in waiting {
        assert_replay(&first, &waiter.await.unwrap());
    }
    let entered = (app.entered("gate").await, other.entered("gate").await);
    assert_eq!(entered, (1, 0));
}

async fn fifty_at_once_over_two_processes(stage: &Stage) {
    let (left, right) = (stage.start().await, stage.start().await);
    for (path, label) in [(HOLD, "hold"), (RERUN, "rerun"), (STEPS, "steps")] {
        let script = with(&marking(label), &json!({ "call": true }));
        let request = ask(path, label, &script);
        assert_one_original(&storm(&[&left, &right], 50, &request).await);
        assert!(settled(&right, &request).await.is_replay());
        let entered = left.entered(label).await + right.entered(label).await;
        assert_eq!(entered, 1, "{label}");
    }
    assert_eq!(super::calls(&left, "hold").await, [1]);
}

async fn no_connection_is_held_while_a_handler_runs(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let running = [HOLD, RERUN, STEPS].map(|path| {
        let asked = app.send_in_background(&ask(path, path, &gated("gate")));
        (path, asked)
    });
    app.reached("gate", 3).await;
    assert_eq!(stage.database.open_transactions().await, 0);
    assert_runs(&app, "k", "beside").await;
    app.open_gate("gate").await;
    for (path, asked) in running {
        assert_eq!(asked.await.unwrap().status, 201, "{path}");
    }
}

async fn a_refusal_never_claims(stage: &Stage) {
    let app = stage.start().await;
    for path in [HOLD, RERUN, STEPS, BACKGROUND] {
        let unreadable = Request::post(path).bearer("acme:one").key(path);
        let unreadable = unreadable.typed("application/json", "{");
        assert_eq!(app.send(&unreadable).await.status, 400);
        let nobody = Request::post(path).key(path).json(&marking(path));
        assert_eq!(app.send(&nobody).await.status, 401);
        let keyless = Request::post(path).bearer("acme:one").json(&marking(path));
        app.send(&keyless)
            .await
            .assert_problem(400, "idempotency-key-missing", false);
        assert_eq!(stage.database.pending().await, 0);
        assert_original(&app.send(&ask(path, path, &marking(path))).await);
        assert_eq!(app.entered(path).await, 1);
    }
}

async fn a_stranded_operation_is_held(stage: &Stage) {
    let request = ask(HOLD, "k", &gated("gate"));
    strand(stage, &request, "gate").await;
    let (app, other) = (stage.start().await, stage.start().await);
    for process in [&app, &other] {
        process.open_gate("gate").await;
        assert_in_flight(&process.send(&request).await);
    }
    stage.database.expire_leases().await;
    for _ in 0..3 {
        for process in [&app, &other] {
            assert_unresolved(&process.send(&request).await);
            assert_reused(&process.send(&ask(HOLD, "k", &marking("other"))).await);
        }
    }
    for answer in storm(&[&app, &other], 20, &request).await {
        assert_unresolved(&answer);
    }
    let entered = app.entered("gate").await + other.entered("gate").await;
    assert_eq!((entered, stage.database.pending().await), (0, 1));
}

async fn a_failed_handler_leaves_the_outcome_open(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    let failures = [
        (json!({ "fail": "err", "status": 503, "body": "busy" }), 503),
        (json!({ "fail": "panic" }), 500),
        (json!({ "status": 500 }), 500),
        (json!({ "status": 408 }), 408),
    ];
    for (number, (failure, status)) in failures.into_iter().enumerate() {
        let label = format!("failing{number}");
        let request = ask(HOLD, &label, &with(&json!({ "label": label }), &failure));
        let first = app.send(&request).await;
        assert_eq!(first.status, status, "{failure}");
        match failure["fail"].as_str() {
            Some("panic") => assert_failed(&first, 500),
            _ => assert_eq!(first.code(), "", "it is the handler's own"),
        }
        for process in [&app, &other] {
            assert_unresolved(&process.send(&request).await);
        }
        let entered = app.entered(&label).await + other.entered(&label).await;
        assert_eq!(entered, 1, "{failure}");
    }
    assert_eq!(stage.database.pending().await, 4);
}

async fn a_late_handler_leaves_the_outcome_open(stage: &Stage) {
    let app = stage.start().await;
    let request = ask("/timely/script", "k", &gated("gate"));
    assert_failed(&app.send(&request).await, 504);
    app.open_gate("gate").await;
    assert_unresolved(&app.send(&request).await);
    assert_eq!(app.entered("gate").await, 1);
    assert_eq!(stage.database.pending().await, 1);
}

/// The same in both: what such an answer says is that nothing was done.
async fn an_answer_that_is_not_recorded_frees_the_key(stage: &Stage) {
    let app = stage.start().await;
    for path in [HOLD, RERUN, STEPS] {
        for status in [401, 403, 425, 429] {
            let key = format!("{path}{status}");
            let script = json!({ "label": key, "status": status, "body": "no" });
            let refused = app.send(&ask(path, &key, &script)).await;
            let found = (refused.status, refused.text());
            assert_eq!(found, (status, "no".into()), "{path}");
            assert_eq!(stage.database.pending().await, 0, "{key}");
            // Not even what the key was used for is left.
            assert_original(&app.send(&ask(path, &key, &marking("free"))).await);
        }
    }
    let picky = "/picky/script";
    let script = json!({ "label": "picky", "status": 404, "fail": "err" });
    assert_eq!(app.send(&ask(picky, "k", &script)).await.status, 404);
    assert_original(&app.send(&ask(picky, "k", &marking("free"))).await);
}

async fn a_domain_error_is_recorded(stage: &Stage) {
    let app = stage.start().await;
    for path in [HOLD, RERUN, STEPS, BACKGROUND] {
        let script =
            json!({ "label": path, "status": 404, "fail": "err", "body": "no such thing" });
        let request = ask(path, path, &script);
        let first = app.send(&request).await;
        let found = (first.status, first.text());
        assert_eq!(found, (404, "no such thing".into()));
        assert_replay(&first, &app.send(&request).await);
        assert_eq!(app.entered(path).await, 1);
    }
}

async fn hanging_up(stage: &Stage) {
    let app = stage.start().await;
    for path in [HOLD, RERUN, STEPS] {
        let request = ask(path, path, &gated(path));
        let mut connection = app.connect().await;
        connection.write(&request.encode()).await.unwrap();
        app.reached(path, 1).await;
        connection.reset().unwrap();
        app.open_gate(path).await;
        let retry = settled(&app, &request).await;
        assert_eq!((retry.status, retry.is_replay()), (201, true), "{path}");
        assert_eq!(app.entered(path).await, 1);
    }
}

async fn tenants_have_keys_of_their_own(stage: &Stage) {
    let app = stage.start().await;
    let script = with(&gated("gate"), &json!({ "call": true }));
    let first = app.send_in_background(&ask(HOLD, "k", &script));
    app.reached("gate", 1).await;
    let other = Request::post(HOLD).bearer("other:one").key("k");
    let other = other.json(&with(&script, &json!({ "label": "other", "gate": null })));
    assert_original(&app.send(&other).await);
    app.open_gate("gate").await;
    assert_original(&first.await.unwrap());
    let (mine, theirs) = (app.effects("gate").await, app.effects("other").await);
    assert_eq!((mine.calls.len(), theirs.calls.len()), (1, 1));
    assert_ne!(mine.calls, theirs.calls, "one derived key for two tenants");
}

/// A row of somebody who knew nothing of leases: nobody knows that it is stale.
async fn a_lease_of_null_never_runs_out(stage: &Stage) {
    let requests = [HOLD, RERUN, STEPS, BACKGROUND].map(|path| ask(path, path, &gated("gate")));
    for request in &requests {
        strand(stage, request, "gate").await;
    }
    let without_lease = "UPDATE idempotency_keys SET lease_expires_at = NULL";
    stage.database.execute(without_lease).await;
    stage.database.expire_leases().await;
    let launch = stage.app().argument("--worker-interval-ms").argument("50");
    let workers = ["--maintenance", "--completion", "--reconcile"];
    let launch = workers
        .into_iter()
        .fold(launch, |launch, worker| launch.argument(worker));
    let app = launch.start().await;
    app.open_gate("gate").await;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        for request in &requests {
            assert_in_flight(&app.send(request).await);
        }
        // It is time itself that must change nothing.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(app.entered("gate").await, 0);
    assert_eq!(stage.database.pending().await, 4);
}

/// Whatever date somebody wrote into it: an expired record is none, but a claim is no record.
async fn a_pending_row_never_expires(stage: &Stage) {
    for path in [HOLD, RERUN] {
        strand(stage, &ask(path, path, &gated("gate")), "gate").await;
    }
    stage.database.expire_all().await;
    let app = stage.start().await;
    app.open_gate("gate").await;
    assert_in_flight(&app.send(&ask(RERUN, RERUN, &gated("gate"))).await);
    stage.database.expire_leases().await;
    assert_unresolved(&app.send(&ask(HOLD, HOLD, &gated("gate"))).await);
    assert_reused(&app.send(&ask(HOLD, HOLD, &marking("other"))).await);
    assert_eq!(app.entered("gate").await, 0);
    let retry = app.send(&ask(RERUN, RERUN, &gated("gate"))).await;
    assert_original(&retry);
    // The record has a date of its own.
    assert_replay(&retry, &app.send(&ask(RERUN, RERUN, &gated("gate"))).await);
}

async fn a_response_that_cannot_be_stored(stage: &Stage) {
    let app = stage.start().await;
    for path in [HOLD, RERUN] {
        let script = json!({ "label": path, "status": 201, "fail": "endless" });
        let request = ask(path, path, &script);
        let answer = app.send(&request).await;
        let found = (answer.status, answer.code());
        assert_eq!(found, (500, "response-not-storable".into()));
    }
    let held = json!({ "label": HOLD, "status": 201, "fail": "endless" });
    assert_unresolved(&app.send(&ask(HOLD, HOLD, &held)).await);
    assert_eq!(app.entered(HOLD).await, 1);
    assert_original(&app.send(&ask(RERUN, RERUN, &marking("free"))).await);
}

async fn the_claim_cannot_be_written(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    stage.database.refuse_to_record().await;
    for path in [HOLD, RERUN, STEPS] {
        let answer = app.send(&ask(path, path, &marking(path))).await;
        assert!(answer.status >= 500, "{answer:?}");
        assert_eq!(answer.json()["retryable"], true);
        assert_eq!(app.entered(path).await, 0);
    }
    stage.database.let_record().await;
    for path in [HOLD, RERUN, STEPS] {
        assert_original(&app.send(&ask(path, path, &marking(path))).await);
    }
}

/// The work is done, the store is up, and the record is refused: the client is not kept for ever.
async fn the_record_cannot_be_written(stage: &Stage) {
    let app = stage.start().await;
    stage.database.refuse_to_finish().await;
    let requests = [HOLD, RERUN].map(|path| ask(path, path, &marking(path)));
    for request in &requests {
        let answer = app.send(request).await;
        assert!(answer.status >= 500, "{answer:?}");
    }
    stage.database.let_record().await;
    let [held, again] = &requests;
    assert_unresolved(&settled(&app, held).await);
    assert_eq!(app.entered(HOLD).await, 1);
    assert_original(&settled(&app, again).await);
}
