//! `resume = "background"`: a worker of any process drives a stranded operation to its end; the client need not come
//! back.

use idem_tests::{Request, Stage, all_at_once, on_all, until};
use serde_json::json;

use super::{
    BACKGROUND, STEPS, assert_original, assert_steps_done_once, calls, nothing_pending, stepping,
    stepping_gated, stepping_with, strand, with, with_worker, without_heartbeat,
};
use crate::asking::{ask, assert_in_flight, assert_replay, settled};

on_all! {
    a_stranded_operation_comes_to_its_end,
    a_failed_operation_comes_to_its_end,
    a_client_may_come_back_first,
    two_workers_are_one_at_a_time,
    only_those_that_asked_for_it,
    the_account_is_the_one_that_asked,
    what_is_alive_is_left_alone,
}

async fn a_stranded_operation_comes_to_its_end(stage: &Stage) {
    for step in 0..3 {
        let label = format!("stranded{step}");
        let request = ask(BACKGROUND, &label, &stepping_gated(&label, step));
        strand(stage, &request, &label).await;
        let app = with_worker(stage, "--completion").start().await;
        app.open_gate(&label).await;
        stage.database.expire_leases().await;
        nothing_pending(stage).await;
        assert_eq!(app.entered(&label).await, 1);
        let answer = app.send(&request).await;
        assert_eq!((answer.status, answer.text()), (201, "done".into()));
        assert!(answer.is_replay());
        assert_eq!(answer.header("X-Steps"), Some("1,1,1"));
        assert_steps_done_once(&app, &label).await;
        assert_eq!(calls(&app, &label).await, [1, 1]);
    }
}

async fn a_failed_operation_comes_to_its_end(stage: &Stage) {
    let app = with_worker(stage, "--completion").start().await;
    for (step, fail) in [(0, "err"), (1, "panic"), (2, "err")] {
        let label = format!("failed{step}");
        let script = stepping_with(&label, step, &json!({ "fail": fail, "fails": 1 }));
        let request = ask(BACKGROUND, &label, &script);
        assert_eq!(app.send(&request).await.status, 500);
        nothing_pending(stage).await;
        let answer = app.send(&request).await;
        assert_eq!((answer.status, answer.is_replay()), (201, true), "{label}");
        assert_eq!(app.entered(&label).await, 2);
        assert_steps_done_once(&app, &label).await;
    }
}

async fn a_client_may_come_back_first(stage: &Stage) {
    let request = ask(BACKGROUND, "k", &stepping_gated("gate", 1));
    strand(stage, &request, "gate").await;
    let app = stage.start().await;
    app.open_gate("gate").await;
    assert_in_flight(&app.send(&request).await);
    stage.database.expire_leases().await;
    let retry = app.send(&request).await;
    assert_original(&retry);
    let worker = with_worker(stage, "--completion").start().await;
    assert_replay(&retry, &worker.send(&request).await);
    assert_steps_done_once(&worker, "gate").await;
    assert_eq!(worker.entered("gate").await, 0);
}

/// And clients beside them.
async fn two_workers_are_one_at_a_time(stage: &Stage) {
    let launch = with_worker(stage, "--completion");
    let (left, right) = (launch.start().await, launch.start().await);
    let requests: Vec<_> = (0..6)
        .map(|index| ask(BACKGROUND, &format!("k{index}"), &stepping_gated("gate", 2)))
        .collect();
    let victim = stage.start().await;
    let asked: Vec<_> = requests
        .iter()
        .map(|one| victim.send_in_background(one))
        .collect();
    victim.reached("gate", 6).await;
    asked.iter().for_each(|one| one.abort());
    victim.kill().await;
    left.open_gate("gate").await;
    right.open_gate("gate").await;
    stage.database.expire_leases().await;
    let addresses = [left.address(), right.address()];
    let answers = all_at_once(6, |index| {
        let (address, request) = (addresses[index % 2], requests[index].clone());
        async move {
            idem_tests::send(address, &request)
                .await
                .expect("an answer")
        }
    })
    .await;
    for answer in answers {
        assert!(matches!(answer.status, 201 | 409), "{answer:?}");
    }
    nothing_pending(stage).await;
    for request in &requests {
        assert!(left.send(request).await.is_replay());
    }
    let entered = left.entered("gate").await + right.entered("gate").await;
    assert_eq!(entered, 6);
    let effects = left.effects("gate").await;
    assert_eq!((effects.committed, effects.calls.len()), (6, 12));
    assert!(
        effects.calls.values().all(|count| *count == 1),
        "{effects:?}"
    );
}

async fn only_those_that_asked_for_it(stage: &Stage) {
    let waiting = ask(STEPS, "waiting", &stepping_gated("gate", 1));
    let driven = ask(BACKGROUND, "driven", &stepping_gated("gate", 1));
    strand(stage, &waiting, "gate").await;
    strand(stage, &driven, "gate").await;
    let app = with_worker(stage, "--completion").start().await;
    app.open_gate("gate").await;
    stage.database.expire_leases().await;
    until("the worker has been there", || async {
        (stage.database.pending().await == 1).then_some(())
    })
    .await;
    assert_eq!(app.entered("gate").await, 1);
    assert!(app.send(&driven).await.is_replay());
    assert_original(&app.send(&waiting).await);
}

/// The derived keys of the worker's run are those of the client's, and so is the record.
async fn the_account_is_the_one_that_asked(stage: &Stage) {
    let script = stepping_gated("gate", 0);
    let request = ask(BACKGROUND, "k", &script);
    strand(stage, &request, "gate").await;
    let app = with_worker(stage, "--completion").start().await;
    app.open_gate("gate").await;
    stage.database.expire_leases().await;
    nothing_pending(stage).await;
    assert!(app.send(&request).await.is_replay());
    let other = Request::post(BACKGROUND).bearer("other:one").key("k");
    assert_original(&app.send(&other.json(&script)).await);
    // The same operation without a detour: the same keys.
    let expected = app.effects("gate").await.calls;
    assert_eq!(expected.len(), 4);
    assert!(expected.values().all(|count| *count == 1), "{expected:?}");
}

async fn what_is_alive_is_left_alone(stage: &Stage) {
    let (app, worker) = (
        stage.start().await,
        with_worker(stage, "--completion").start().await,
    );
    let slow = with(&stepping("slow"), &json!({ "sleep_ms": 4_500 }));
    let running = app.send_in_background(&ask(BACKGROUND, "slow", &slow));
    // Beside it, one whose owner is only late.
    let late = ask(
        BACKGROUND,
        "late",
        &without_heartbeat(&stepping_gated("late", 0)),
    );
    let first = app.send_in_background(&late);
    app.reached("late", 1).await;
    worker.open_gate("late").await;
    let taken = settled(&worker, &late).await;
    assert!(matches!(taken.status, 201), "{taken:?}");
    app.open_gate("late").await;
    let first = first.await.unwrap();
    assert!(first.is_replay());
    assert_eq!(first.comparable(), taken.comparable());
    assert_steps_done_once(&app, "late").await;

    assert_original(&running.await.unwrap());
    assert_eq!(worker.entered("slow").await, 0);
    assert_eq!(calls(&app, "slow").await, [1, 1]);
}
