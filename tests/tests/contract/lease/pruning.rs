//! Pruning takes what has expired, and never an operation that is pending, however old it is.

use idem_tests::{Stage, on_all, until};

use super::{
    HOLD, RERUN, STEPS, assert_original, assert_unresolved, stepping_gated, strand, with_worker,
};
use crate::asking::{ask, assert_replay, gated, marking};

on_all! { the_maintenance_worker_keeps_what_is_pending }

async fn the_maintenance_worker_keeps_what_is_pending(stage: &Stage) {
    let finished = ask(STEPS, "finished", &stepping_gated("finished", 2));
    let app = stage.start().await;
    app.open_gate("finished").await;
    assert_original(&app.send(&finished).await);
    for index in 0..20 {
        let request = ask(HOLD, &format!("old{index}"), &marking("old"));
        assert_original(&app.send(&request).await);
    }
    let hold = ask(HOLD, "hold", &gated("hold"));
    let rerun = ask(RERUN, "rerun", &gated("rerun"));
    let steps = ask(STEPS, "steps", &stepping_gated("steps", 2));
    for (request, gate) in [(&hold, "hold"), (&rerun, "rerun"), (&steps, "steps")] {
        strand(stage, request, gate).await;
    }
    stage.database.expire_leases().await;
    let years_ago = stage.backend().ago(3 * 366 * 24 * 60 * 60);
    let age =
        format!("UPDATE idempotency_keys SET lease_expires_at = {years_ago} WHERE status IS NULL");
    stage.database.execute(&age).await;
    let expire =
        format!("UPDATE idempotency_keys SET expires_at = {years_ago} WHERE status IS NOT NULL");
    stage.database.execute(&expire).await;
    let live = ask(HOLD, "live", &marking("live"));
    let first = app.send(&live).await;
    assert_original(&first);

    let maintained = with_worker(stage, "--maintenance").start().await;
    until("what has expired is gone", || async {
        (stage.database.records().await == 4).then_some(())
    })
    .await;
    assert_eq!(stage.database.pending().await, 3);
    assert_replay(&first, &maintained.send(&live).await);
    assert_unresolved(&maintained.send(&hold).await);
    for (request, gate) in [(&rerun, "rerun"), (&steps, "steps")] {
        maintained.open_gate(gate).await;
        assert_original(&maintained.send(request).await);
    }
    // The finished steps of the pending one were still there, those of the expired one are not.
    super::assert_steps_done_once(&maintained, "steps").await;
    assert_eq!(maintained.entered("steps/charge").await, 0);
    maintained.open_gate("finished").await;
    assert_original(&maintained.send(&finished).await);
    assert_eq!(maintained.entered("finished/charge").await, 1);
}
