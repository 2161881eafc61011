//! What PostgreSQL is told in lease mode, read off the wire.

use std::collections::BTreeSet;
use std::time::Duration;

use idem_tests::{Proxy, Sent, Stage, on_postgres};

use super::{RERUN, STEPS, assert_original, stepping};
use crate::asking::{ask, assert_runs};

/// Longer than a client that is not waiting for an answer takes to send the rest.
const QUIET: Duration = Duration::from_millis(60);

on_postgres! {
    a_run_is_three_round_trips_and_a_step_at_most_its_transaction,
    nothing_of_a_lease_is_said_in_transaction_mode,
}

/// Claim, pending row and record; the handler here does nothing else.
async fn a_run_is_three_round_trips_and_a_step_at_most_its_transaction(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let script = |label: &str| serde_json::json!({ "label": label, "status": 201, "effects": 0 });
    let plain = async |key: &str| {
        assert_original(&app.send(&ask(RERUN, key, &script(key))).await);
    };
    let steps = async |key: &str| {
        assert_original(&app.send(&ask(STEPS, key, &stepping(key))).await);
    };
    plain("warm").await;
    steps("warm-steps").await;
    proxy.hold(QUIET);
    let alone = fewest(&proxy, async |sample| plain(&format!("k{sample}")).await).await;
    assert!(alone <= 3, "{alone} round trips: {:#?}", proxy.sent());
    // Two calls with one each, and BEGIN, work, record, COMMIT.
    let stepwise = fewest(&proxy, async |sample| steps(&format!("s{sample}")).await).await;
    assert!(
        stepwise <= 3 + 2 + 4,
        "{stepwise} round trips: {:#?}",
        proxy.sent()
    );
}

/// The fewest of several tries: a slow machine can only make them look like more.
async fn fewest(proxy: &Proxy, mut run: impl AsyncFnMut(usize)) -> usize {
    let mut fewest = usize::MAX;
    for sample in 0..3 {
        proxy.clear();
        run(sample).await;
        fewest = fewest.min(round_trips(&proxy.sent()));
    }
    fewest
}

/// Those of the pool's connection: calls of the outside world and renewals have connections of their own.
fn round_trips(sent: &[Sent]) -> usize {
    let begin = sent
        .iter()
        .find(|one| one.sql.starts_with("BEGIN"))
        .unwrap();
    let of_the_pool = sent.iter().filter(|one| one.connection == begin.connection);
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
