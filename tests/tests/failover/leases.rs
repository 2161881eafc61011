//! Lease mode: the primary dies in the middle of a run, and with it the connection that renews its lease.

use std::collections::BTreeSet;

use idem_tests::{App, Request};

use crate::load::gated;
use crate::pair::{Pair, Replication, reconnected, settled};

/// Whether the renewals reach the new primary in time is for the machine to say: a run then goes on, or another one goes
/// on behind its finished steps. There is one run at each step: a call, database work, a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_goes_on_or_is_resumed() {
    let mut pair = Pair::start(Replication::Synchronous).await;
    let apps = [pair.app().start().await, pair.app().start().await];
    let mut runs = Vec::new();
    for step in 0..3 {
        let label = format!("at{step}");
        let request = gated(&label, step);
        let first = apps[0].send_in_background(&request);
        apps[0].reached(&label, 1).await;
        runs.push((step, label, request, first));
    }
    pair.fail_over().await;
    for app in &apps {
        reconnected(app).await;
        for (_, label, ..) in &runs {
            app.open_gate(label).await;
        }
    }
    for (step, label, request, first) in runs {
        let first = first.await.unwrap();
        println!("at step {step}: {}", first.status);
        let answer = settled(&apps[1], &request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        if first.status == 201 {
            assert!(answer.is_replay(), "{label}: it ran again");
            assert_eq!(answer.comparable(), first.comparable());
        } else {
            // 502 is the handler's own word for an error of its database.
            assert!(matches!(first.status, 409 | 500 | 502 | 503), "{first:?}");
        }
        assert_done(&pair, &label).await;
        // What was finished on the old primary is not done again.
        if step > 0 {
            assert_eq!(entered(&apps, &label, "charge").await, 1, "{label}");
        }
        if step > 1 {
            assert_eq!(entered(&apps, &label, "order").await, 1, "{label}");
        }
    }
    assert_nothing_pends(&pair).await;
}

/// Nobody can renew the lease: the handler is dropped in front of its last call, and a retry goes on from there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_outage_longer_than_a_lease_ends_the_run() {
    let mut pair = Pair::start(Replication::Synchronous).await;
    let apps = [pair.app().start().await, pair.app().start().await];
    let request: Request = gated("long", 2);
    let first = apps[0].send_in_background(&request);
    apps[0].reached("long", 1).await;
    pair.lose_primary().await;
    let first = first.await.unwrap();
    first.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(first.header("Retry-After").is_some(), "{first:?}");
    pair.promote().await;
    for app in &apps {
        app.open_gate("long").await;
    }
    let answer = settled(&apps[1], &request).await;
    assert_eq!(
        (answer.status, answer.is_replay()),
        (201, false),
        "{answer:?}"
    );
    assert_done(&pair, "long").await;
    assert_eq!(pair.standby.calls("long").await.len(), 2);
    for step in ["charge", "order"] {
        assert_eq!(entered(&apps, "long", step).await, 1, "{step}");
    }
    assert_nothing_pends(&pair).await;
}

/// The database work once, each call under its one key.
async fn assert_done(pair: &Pair, label: &str) {
    assert_eq!(pair.standby.effects(label).await, 1, "{label}");
    let calls = pair.standby.calls(label).await;
    let keys: BTreeSet<_> = calls.iter().collect();
    assert_eq!(keys.len(), 2, "{label}: {calls:?}");
}

async fn assert_nothing_pends(pair: &Pair) {
    let pending = "SELECT key FROM idempotency_keys WHERE status IS NULL";
    let pending = pair.standby.rows(pending).await;
    assert!(pending.is_empty(), "{pending:?}");
}

async fn entered(apps: &[App; 2], label: &str, step: &str) -> u64 {
    let place = format!("{label}/{step}");
    apps[0].entered(&place).await + apps[1].entered(&place).await
}
