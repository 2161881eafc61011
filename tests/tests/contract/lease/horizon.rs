//! The retention horizon in lease mode: a claim that is there outranks the age of its key.

use idem_tests::{Stage, on_all, on_postgres};
use serde_json::json;

use super::{strand, with};
use crate::asking::{ask, assert_replay, gated, marking};
use crate::horizon::{DAY, aged, assert_expired, assert_run};

const LEASED: &str = "/dated-rerun/script";

on_all! { in_lease_mode_too }

on_postgres! { what_is_pending_is_not_refused }

async fn in_lease_mode_too(stage: &Stage) {
    let app = stage.start().await;
    let old = ask(LEASED, &aged(2 * DAY).to_string(), &marking("leased"));
    assert_expired(&app.send(&old).await);
    assert_eq!(app.effects("leased").await.entered, 0);
    assert_eq!(stage.database.records().await, 0);
    let young = ask(LEASED, &aged(0).to_string(), &marking("leased"));
    let first = app.send(&young).await;
    assert_run(&first);
    assert_replay(&first, &app.send(&young).await);
}

/// An operation that was begun and is not over is driven to its end, whatever its key's age.
async fn what_is_pending_is_not_refused(stage: &Stage) {
    let script = with(&gated("stranded"), &json!({ "heartbeat": false }));
    let request = ask(LEASED, &aged(0).to_string(), &script);
    strand(stage, &request, "stranded").await;
    stage.database.set_clock_forward(24 * 60 + 1).await;
    let app = stage.start().await;
    app.open_gate("stranded").await;
    assert_run(&app.send(&request).await);
    let other = ask(LEASED, &aged(0).to_string(), &marking("stranded"));
    assert_expired(&app.send(&other).await);
}
