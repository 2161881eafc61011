//! The store goes away while a handler calls the outside world.

use idem_tests::{App, Proxy, Response, Stage, on_servers, until};
use serde_json::json;

use super::{HOLD, RERUN, STEPS, assert_original, assert_unresolved, stepping_gated, with};
use crate::asking::{ask, assert_replay, gated, marking, settled};

on_servers! {
    away_for_a_moment,
    away_for_longer_than_the_lease,
    away_when_the_handler_ends,
    away_at_the_claim,
}

async fn through(proxy: &Proxy, stage: &Stage) -> App {
    let launch = stage.app().database_url(proxy.url());
    let launch = launch.argument("--pool-timeout-ms").argument("300");
    launch.start().await
}

async fn away_for_a_moment(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let (app, other) = (through(&proxy, stage).await, stage.start().await);
    for (path, script) in [
        (HOLD, gated("hold")),
        (RERUN, gated("rerun")),
        (STEPS, stepping_gated("steps", 0)),
    ] {
        let label = script["label"].as_str().unwrap();
        let request = ask(path, label, &script);
        let running = app.send_in_background(&request);
        app.reached(label, 1).await;
        proxy.take_down().await;
        proxy.bring_up();
        app.open_gate(label).await;
        let first = running.await.unwrap();
        assert_original(&first);
        assert_replay(&first, &other.send(&request).await);
    }
    super::assert_steps_done_once(&app, "steps").await;
}

async fn away_for_longer_than_the_lease(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let (app, other) = (through(&proxy, stage).await, stage.start().await);
    let before = json!({ "sleep_at": "before" });
    let hold = ask(HOLD, "hold", &with(&gated("hold"), &before));
    let rerun = ask(RERUN, "rerun", &with(&gated("rerun"), &before));
    let running = [&hold, &rerun].map(|request| app.send_in_background(request));
    app.reached("hold", 1).await;
    app.reached("rerun", 1).await;
    proxy.take_down().await;
    // The gates are closed: it is the lease that ends them.
    for answer in running {
        assert_unavailable(&answer.await.unwrap());
    }
    proxy.bring_up();
    for label in ["hold", "rerun"] {
        app.open_gate(label).await;
        other.open_gate(label).await;
        assert_eq!(app.effects(label).await.committed, 0, "it was cancelled");
    }
    assert_unresolved(&settled(&other, &hold).await);
    assert_unresolved(&recovered(&app, &hold).await);
    let retry = settled(&other, &rerun).await;
    assert_original(&retry);
    assert_replay(&retry, &recovered(&app, &rerun).await);
    let entered = (app.entered("hold").await, other.entered("hold").await);
    assert_eq!(entered, (1, 0));
    assert_eq!(stage.database.effects("hold").await, 0);
    assert_eq!(stage.database.effects("rerun").await, 1);
}

/// The work is done and the record cannot be written: what the client is told is true.
async fn away_when_the_handler_ends(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let (app, other) = (through(&proxy, stage).await, stage.start().await);
    let request = ask(HOLD, "k", &gated("gate"));
    let running = app.send_in_background(&request);
    app.reached("gate", 1).await;
    proxy.take_down().await;
    app.open_gate("gate").await;
    assert_unavailable(&running.await.unwrap());
    proxy.bring_up();
    let known = settled(&other, &request).await;
    if !known.is_replay() {
        assert_unresolved(&known);
    }
    assert_eq!(other.entered("gate").await, 0);
    assert_eq!(stage.database.effects("gate").await, 1);
}

async fn away_at_the_claim(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let app = through(&proxy, stage).await;
    proxy.take_down().await;
    for path in [HOLD, RERUN, STEPS] {
        assert_unavailable(&app.send(&ask(path, path, &marking(path))).await);
        assert_eq!(app.entered(path).await, 0);
    }
    proxy.bring_up();
    for path in [HOLD, RERUN, STEPS] {
        let request = ask(path, path, &marking(path));
        assert_original(&recovered(&app, &request).await);
    }
}

/// The answer once the store is there again.
async fn recovered(app: &App, request: &idem_tests::Request) -> Response {
    until("the store is up again", || async {
        let answer = settled(app, request).await;
        (answer.status != 503).then_some(answer)
    })
    .await
}

#[track_caller]
fn assert_unavailable(answer: &Response) {
    answer.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(answer.header("Retry-After").is_some(), "no Retry-After");
}
