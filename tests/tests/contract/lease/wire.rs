//! What a server is told in lease mode, read off the wire.

use std::collections::BTreeSet;
use std::time::Duration;

use idem_tests::{Backend, Proxy, Sent, Stage, on_servers};

use super::{RERUN, STEPS, assert_original, stepping, without_heartbeat};
use crate::asking::{ask, assert_runs};
use crate::words::words;

/// Longer than a client that is not waiting for an answer takes to send the rest.
const QUIET: Duration = Duration::from_millis(60);

on_servers! {
    round_trips_of_a_run_and_of_its_steps,
    nothing_of_a_lease_is_said_in_transaction_mode,
}

/// Claim, pending row and record; the handler here does nothing else.
async fn round_trips_of_a_run_and_of_its_steps(stage: &Stage) {
    // Of each: a run, a call, a transaction of one INSERT.
    let (run, call, transaction) = match stage.backend() {
        Backend::Mysql => (9, 1, 7),
        _ => (3, 1, 4),
    };
    let (app, proxy) = stage.start_behind_proxy().await;
    let script = |label: &str| serde_json::json!({ "label": label, "status": 201, "effects": 0 });
    let plain = async |key: &str| {
        assert_original(&app.send(&ask(RERUN, key, &script(key))).await);
    };
    let steps = async |key: &str| {
        // Withheld answers take longer than its lease allows for.
        let script = without_heartbeat(&stepping(key));
        assert_original(&app.send(&ask(STEPS, key, &script)).await);
    };
    plain("warm").await;
    steps("warm-steps").await;
    proxy.hold(QUIET);
    let alone = fewest(stage, &proxy, async |sample| {
        plain(&format!("k{sample}")).await
    })
    .await;
    assert_eq!(alone, run, "{:#?}", proxy.sent());
    let stepwise = fewest(stage, &proxy, async |sample| {
        steps(&format!("s{sample}")).await
    })
    .await;
    let expected = run + 2 * call + transaction;
    assert_eq!(stepwise, expected, "{:#?}", proxy.sent());
}

/// The fewest of several tries: a slow machine can only make them look like more.
async fn fewest(stage: &Stage, proxy: &Proxy, mut run: impl AsyncFnMut(usize)) -> usize {
    let mut fewest = usize::MAX;
    for sample in 0..3 {
        proxy.clear();
        run(sample).await;
        fewest = fewest.min(round_trips(stage, &proxy.sent()));
    }
    fewest
}

/// Those of the pool's connection: calls of the outside world and renewals have connections of their own.
fn round_trips(stage: &Stage, sent: &[Sent]) -> usize {
    let lock = words(stage.backend()).lock;
    let claim = sent.iter().find(|one| one.sql.contains(lock)).unwrap();
    let of_the_pool = sent.iter().filter(|one| one.connection == claim.connection);
    let rounds: BTreeSet<_> = of_the_pool.map(|one| one.round).collect();
    rounds.len()
}

async fn nothing_of_a_lease_is_said_in_transaction_mode(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_runs(&app, "cold", "cold").await;
    proxy.clear();
    assert_runs(&app, "warm", "warm").await;
    let of_a_lease =
        |one: &Sent| one.sql.contains("lease_expires_at") || one.sql.contains("next_attempt_at");
    assert!(!proxy.sent().iter().any(of_a_lease), "{:#?}", proxy.sent());
}
