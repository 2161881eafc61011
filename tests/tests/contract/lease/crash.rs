//! The process dies at every point of a run with steps, of one that is held, and of one that a worker drives on.

use std::os::unix::process::ExitStatusExt;

use idem_tests::{App, Request, Stage, on_all};
use serde_json::json;

use super::{
    BACKGROUND, HOLD, STEPS, assert_original, assert_steps_done_once, nothing_pending, stepping,
    stepping_with, with, with_worker,
};
use crate::asking::{ask, marking, settled};

const SIGKILL: i32 = 9;
const FAR_TOO_MANY: u32 = 200;

on_all! {
    killed_at_every_point_of_a_run_with_steps,
    killed_at_every_point_of_a_held_run,
    killed_at_every_point_and_driven_on_by_a_worker,
    the_process_exits_in_a_step,
}

/// Each round's victim is the process that has recovered the round before.
async fn killed_at_every_point_of_a_run_with_steps(stage: &Stage) {
    let mut app = warm(stage.start().await, STEPS).await;
    for at in 1..FAR_TOO_MANY {
        let label = format!("kill{at}");
        let request = ask(STEPS, &label, &stepping(&label));
        if !is_killed(app, at, &request).await {
            assert!(at > 15, "only {at} points");
            return;
        }
        app = stage.start().await;
        stage.database.expire_leases().await;
        let retry = settled(&app, &request).await;
        assert_eq!(retry.status, 201, "point {at}: {}", retry.text());
        let again = app.send(&request).await;
        assert!(again.is_replay(), "point {at}");
        assert_eq!(again.comparable(), retry.comparable(), "point {at}");
        assert_steps_done_once(&app, &label).await;
        assert_eq!(stage.database.pending().await, 0, "point {at}");
    }
    panic!("never got through");
}

/// Never run twice, whatever is known.
async fn killed_at_every_point_of_a_held_run(stage: &Stage) {
    let mut app = warm(stage.start().await, HOLD).await;
    let (mut unresolved, mut recorded) = (0, 0);
    for at in 1..FAR_TOO_MANY {
        let label = format!("kill{at}");
        let script = with(&marking(&label), &json!({ "call": true }));
        let request = ask(HOLD, &label, &script);
        if !is_killed(app, at, &request).await {
            assert!(at > 8, "only {at} points");
            assert!(
                unresolved > 3,
                "{unresolved} unresolved, {recorded} recorded"
            );
            return;
        }
        app = stage.start().await;
        stage.database.expire_leases().await;
        let retry = settled(&app, &request).await;
        let effects = app.effects(&label).await;
        let called: u64 = effects.calls.values().sum();
        assert!(effects.committed <= 1 && called <= 1, "{at}: {effects:?}");
        if retry.code() == "idempotency-unresolved" {
            unresolved += 1;
            assert_eq!(effects.entered, 0, "point {at}");
            assert_eq!(stage.database.pending().await, unresolved);
            continue;
        }
        // It was recorded, or it was never claimed and has run now.
        assert_eq!(retry.status, 201, "point {at}: {}", retry.text());
        assert_eq!(effects.entered, u64::from(!retry.is_replay()));
        assert_eq!((effects.committed, called), (1, 1), "point {at}");
        recorded += i64::from(retry.is_replay());
    }
    panic!("never got through");
}

/// Nobody asks again: a worker of the next process drives the operation to its end, if it was claimed at all.
async fn killed_at_every_point_and_driven_on_by_a_worker(stage: &Stage) {
    let worker = with_worker(stage, "--completion").start().await;
    let mut finished = 0;
    for at in 1..FAR_TOO_MANY {
        let victim = warm(stage.start().await, BACKGROUND).await;
        let label = format!("kill{at}");
        let request = ask(BACKGROUND, &label, &stepping(&label));
        if !is_killed(victim, at, &request).await {
            assert!(at > 15, "only {at} points");
            assert!(finished > 5, "{finished} finished");
            return;
        }
        stage.database.expire_leases().await;
        nothing_pending(stage).await;
        let retry = settled(&worker, &request).await;
        assert_eq!(retry.status, 201, "point {at}: {}", retry.text());
        finished += u32::from(retry.is_replay());
        assert_steps_done_once(&worker, &label).await;
    }
    panic!("never got through");
}

/// So that what is counted is the run, and not the way to the database.
async fn warm(app: App, path: &str) -> App {
    let script = with(&stepping("warm"), &json!({ "call": true }));
    let key = format!("warm{}", app.process());
    assert_original(&app.send(&ask(path, &key, &script)).await);
    app
}

/// Whether the process died at this point before it answered.
async fn is_killed(victim: App, at: u32, request: &Request) -> bool {
    victim.arm(at).await;
    if let Ok(answer) = victim.try_send(request).await {
        assert_original(&answer);
        return false;
    }
    assert_eq!(victim.ended().await.signal(), Some(SIGKILL));
    true
}

async fn the_process_exits_in_a_step(stage: &Stage) {
    for step in 0..3 {
        let label = format!("exit{step}");
        let script = stepping_with(&label, step, &json!({ "fail": "exit" }));
        let request = ask(STEPS, &label, &script);
        for _ in 0..2 {
            let victim = stage.start().await;
            assert!(victim.try_send(&request).await.is_err());
            assert_eq!(victim.ended().await.code(), Some(3));
            stage.database.expire_leases().await;
        }
        let app = stage.start().await;
        let effects = app.effects(&label).await;
        assert_eq!(effects.committed, u64::from(step > 1), "{label}");
        // Each time it was asked, by one and the same key.
        let charged = if step == 0 { 2 } else { 1 };
        assert!(effects.calls.values().any(|count| *count == charged));
    }
}
