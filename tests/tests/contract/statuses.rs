//! Every status: which are recorded, and which keep their effects.

use idem_tests::{App, Stage, in_both_styles};
use serde_json::json;

use crate::asking::{ask, assert_replay};

/// 4xx that say "not now" rather than "no".
const PASSING: [u16; 5] = [401, 403, 408, 425, 429];

in_both_styles! {
    every_status_under_final,
    every_status_under_success,
    every_status_under_all,
}

async fn every_status_under_final(stage: &Stage) {
    let is_recorded = |status: u16| status < 500 && !PASSING.contains(&status);
    every_status(stage, "/account/script", is_recorded).await;
}

async fn every_status_under_success(stage: &Stage) {
    every_status(stage, "/success/script", |status| status < 400).await;
}

async fn every_status_under_all(stage: &Stage) {
    every_status(stage, "/all/script", |_| true).await;
}

async fn every_status(stage: &Stage, path: &str, is_recorded: fn(u16) -> bool) {
    let app = stage.app().pool(1).start().await;
    for status in 200..=599 {
        check(&app, path, status, is_recorded(status)).await;
    }
    let recorded = (200..=599).filter(|status| is_recorded(*status)).count();
    assert_eq!(
        stage.database.records().await,
        i64::try_from(recorded).unwrap()
    );
    // Below 400 they commit, recorded once each; at 400 and above they never do.
    assert_eq!(stage.database.effects("statuses").await, 200);
    assert_eq!(stage.database.open_transactions().await, 0);
}

async fn check(app: &App, path: &str, status: u16, is_recorded: bool) {
    let script =
        json!({ "label": "statuses", "status": status, "body": format!("body of {status}") });
    let request = ask(path, &format!("k{status}"), &script);
    let first = app.send(&request).await;
    assert_eq!((first.status, first.is_replay()), (status, false));
    let second = app.send(&request).await;
    if is_recorded {
        assert_replay(&first, &second);
    } else {
        assert_eq!((second.status, second.is_replay()), (status, false));
    }
}
