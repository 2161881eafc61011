//! The steps are others than those that were recorded: a deployment in between. Nothing is guessed.

use idem_tests::{App, Stage, on_all};

use super::{
    STEPS, assert_original, assert_steps_done_once, assert_unresolved, stepping_gated, strand,
};
use crate::asking::{ask, assert_replay};

on_all! {
    steps_were_renamed,
    steps_were_removed,
}

async fn steps_were_renamed(stage: &Stage) {
    changed(stage, "renamed").await;
}

async fn steps_were_removed(stage: &Stage) {
    changed(stage, "shorter").await;
}

/// Two steps are recorded when the process dies in the third.
async fn changed(stage: &Stage, deployment: &str) {
    let request = ask(STEPS, "k", &stepping_gated("gate", 2));
    strand(stage, &request, "gate").await;
    let launch = stage.app().argument("--deployment").argument(deployment);
    let next = launch.start().await;
    next.open_gate("gate").await;
    stage.database.expire_leases().await;
    for _ in 0..2 {
        assert_unresolved(&next.send(&request).await);
        stage.database.expire_leases().await;
    }
    assert!(is_loud(&next), "{}", next.log());
    assert_eq!(stage.database.pending().await, 1);
    let effects = next.effects("gate").await;
    assert_eq!((effects.committed, effects.calls.len()), (1, 1));

    // Rolled back to the steps that were recorded.
    let app = stage.start().await;
    app.open_gate("gate").await;
    let retry = app.send(&request).await;
    assert_original(&retry);
    assert_replay(&retry, &app.send(&request).await);
    assert_steps_done_once(&app, "gate").await;
}

fn is_loud(app: &App) -> bool {
    app.log().lines().any(|line| line.contains("ERROR"))
}
