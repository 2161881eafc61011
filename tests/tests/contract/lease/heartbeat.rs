//! A claim is renewed for as long as its handler runs, whatever the worker's thread does; and time is the database's.

use std::time::{Duration, Instant};

use idem_tests::{App, Request, Response, Stage, on_all, on_postgres, until};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{
    HOLD, RERUN, STEPS, assert_original, assert_unresolved, stepping_with, with, without_heartbeat,
};
use crate::asking::{ask, assert_in_flight, assert_replay, gated, marking, settled};

on_all! {
    a_handler_outlives_its_lease_three_times_over,
    a_handler_that_keeps_its_thread_keeps_its_lease,
    a_lease_that_nobody_renews_runs_out,
}

on_postgres! { the_clocks_of_hosts_do_not_matter }

/// Of a lease of two seconds.
const THREE_LEASES_MS: u64 = 6_500;

async fn a_handler_outlives_its_lease_three_times_over(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    let slow = json!({ "sleep_ms": THREE_LEASES_MS });
    let requests = [
        ask(HOLD, "hold", &with(&marking("hold"), &slow)),
        ask(RERUN, "rerun", &with(&marking("rerun"), &slow)),
        ask(STEPS, "steps", &stepping_with("steps", 0, &slow)),
        ask(STEPS, "end", &with(&marking("end"), &slow)),
    ];
    let other = &other;
    let [hold, rerun, steps, end] = requests.each_ref().map(|request| {
        let running = app.send_in_background(request);
        async move {
            claimed(stage).await;
            assert_kept(other, request, running).await;
        }
    });
    tokio::join!(hold, rerun, steps, end);
    for label in ["hold", "rerun", "steps", "end"] {
        let entered = (app.entered(label).await, other.entered(label).await);
        assert_eq!(entered, (1, 0), "{label}");
    }
    super::assert_steps_done_once(&app, "steps").await;
    assert_eq!(super::calls(&app, "steps").await, [1, 1]);
}

async fn a_handler_that_keeps_its_thread_keeps_its_lease(stage: &Stage) {
    let (app, other) = (stage.app().workers(1).start().await, stage.start().await);
    for path in [HOLD, RERUN] {
        let script = with(&marking(path), &json!({ "block_ms": THREE_LEASES_MS }));
        let request = ask(path, path, &script);
        let running = app.send_in_background(&request);
        until("it is claimed", || async {
            (stage.database.pending().await == 1).then_some(())
        })
        .await;
        assert_kept(&other, &request, running).await;
        let entered = (app.entered(path).await, other.entered(path).await);
        assert_eq!(entered, (1, 0), "{path}");
    }
}

/// Returns when all four operations are claimed, so that it is not the other process that claims one.
async fn claimed(stage: &Stage) {
    until("they are claimed", || async {
        (stage.database.pending().await == 4).then_some(())
    })
    .await;
}

/// The other process is told that the operation is in flight until it is over, and gets the replay then.
async fn assert_kept(other: &App, request: &Request, running: JoinHandle<Response>) {
    while !running.is_finished() {
        let answer = other.send(request).await;
        if !answer.is_replay() {
            assert_in_flight(&answer);
        }
        sleep(Duration::from_millis(50)).await;
    }
    let first = running.await.unwrap();
    assert_original(&first);
    assert_replay(&first, &other.send(request).await);
}

/// By itself, after its two seconds. Who finishes late under `hold` says how it ended: nobody else has the claim.
async fn a_lease_that_nobody_renews_runs_out(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    let hold = ask(HOLD, "hold", &without_heartbeat(&gated("hold")));
    let rerun = ask(RERUN, "rerun", &without_heartbeat(&gated("rerun")));
    let start = Instant::now();
    let first = app.send_in_background(&hold);
    let late = app.send_in_background(&rerun);
    app.reached("hold", 1).await;
    app.reached("rerun", 1).await;
    other.open_gate("hold").await;
    other.open_gate("rerun").await;
    let taken = settled(&other, &rerun).await;
    assert_original(&taken);
    assert_unresolved(&settled(&other, &hold).await);
    assert!(start.elapsed() >= Duration::from_secs(2), "too early");
    app.open_gate("hold").await;
    app.open_gate("rerun").await;
    assert_replay(&taken, &late.await.unwrap());
    let first = first.await.unwrap();
    assert_original(&first);
    assert_replay(&first, &other.send(&hold).await);
    let entered = (other.entered("hold").await, other.entered("rerun").await);
    assert_eq!(entered, (0, 1));
}

/// The database's clock is an hour before that of the applications, and then an hour behind it.
async fn the_clocks_of_hosts_do_not_matter(stage: &Stage) {
    for minutes in [60, -60] {
        stage.database.set_clock_forward(minutes).await;
        let (app, other) = (stage.start().await, stage.start().await);
        let label = format!("clock{minutes}");
        let held = ask(HOLD, &label, &gated(&label));
        let running = app.send_in_background(&held);
        app.reached(&label, 1).await;
        let left =
            "SELECT (extract(epoch FROM lease_expires_at - clock_timestamp()) * 1000)::bigint
                    FROM idempotency_keys WHERE status IS NULL";
        let left = stage.database.number(left).await;
        assert!(
            (1..=2000).contains(&left),
            "{left} ms of the lease are left"
        );
        assert_in_flight(&other.send(&held).await);

        // Another one, which nobody renews, is taken over when its two seconds are over, and not before.
        let key = format!("{label}-late");
        let start = Instant::now();
        let rerun = ask(RERUN, &key, &without_heartbeat(&gated(&key)));
        let late = app.send_in_background(&rerun);
        app.reached(&key, 1).await;
        other.open_gate(&key).await;
        let taken = settled(&other, &rerun).await;
        assert!(start.elapsed() >= Duration::from_secs(2), "too early");
        assert_original(&taken);
        app.open_gate(&key).await;
        assert_replay(&taken, &late.await.unwrap());

        // Meanwhile the first one was renewed.
        assert_in_flight(&other.send(&held).await);
        app.open_gate(&label).await;
        let first = running.await.unwrap();
        assert_original(&first);
        assert_replay(&first, &other.send(&held).await);
    }
}
