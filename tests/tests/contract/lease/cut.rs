//! The connection to the database dies at every statement of a run in lease mode.

use idem_tests::{App, Cut, Proxy, Request, Response, Stage, on_servers, until};
use serde_json::json;

use super::{HOLD, STEPS, assert_original, assert_steps_done_once, stepping, with};
use crate::asking::{ask, assert_replay, marking};
use crate::cut;

on_servers! {
    cut_at_every_statement_of_a_run_with_steps,
    cut_at_every_statement_of_a_held_run,
}

/// What a cut connection may come to. 502: it was the outside call's.
const HONEST: [u16; 6] = [201, 409, 500, 502, 503, 504];

async fn cut_at_every_statement_of_a_run_with_steps(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let run = |label: &str| ask(STEPS, label, &stepping(label));
    let cuts = cuts_of(&app, &proxy, run).await;
    let (all, mut met) = (cuts.len(), 0);
    for (label, cut) in cuts {
        let request = run(&label);
        proxy.cut(cut.clone());
        let answer = app.send(&request).await;
        met += usize::from(!proxy.is_cut_pending());
        assert!(HONEST.contains(&answer.status), "{cut:?}: {answer:?}");
        stage.database.expire_leases().await;
        let retry = done(&app, &request).await;
        assert_replay_of_done(&app, &request, &retry).await;
        assert_steps_done_once(&app, &label).await;
    }
    cut::assert_most(met, all);
}

async fn cut_at_every_statement_of_a_held_run(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let run = |label: &str| {
        let script = with(&marking(label), &json!({ "call": true }));
        ask(HOLD, label, &script)
    };
    let cuts = cuts_of(&app, &proxy, run).await;
    let (all, mut met) = (cuts.len(), 0);
    for (label, cut) in cuts {
        let request = run(&label);
        proxy.cut(cut.clone());
        let answer = app.send(&request).await;
        met += usize::from(!proxy.is_cut_pending());
        assert!(HONEST.contains(&answer.status), "{cut:?}: {answer:?}");
        stage.database.expire_leases().await;
        let retry = until("it is known what can be known", || async {
            let answer = app.send(&request).await;
            let is_open = answer.code() == "idempotency-in-flight" || answer.status == 503;
            (!is_open).then_some(answer)
        })
        .await;
        let is_honest = retry.status == 201 || retry.code() == "idempotency-unresolved";
        assert!(is_honest, "{cut:?}: {retry:?}");
        let effects = app.effects(&label).await;
        let called: u64 = effects.calls.values().sum();
        let is_once = effects.committed <= 1 && called <= 1 && effects.entered <= 1;
        assert!(is_once, "{cut:?}: {effects:?}");
    }
    cut::assert_most(met, all);
}

/// In front of and behind each statement that a warm run sends, each with a label of its own.
async fn cuts_of(app: &App, proxy: &Proxy, run: impl Fn(&str) -> Request) -> Vec<(String, Cut)> {
    assert_original(&app.send(&run("warm")).await);
    proxy.clear();
    assert_original(&app.send(&run("warm2")).await);
    let cuts = cut::cuts(proxy);
    assert!(cuts.len() >= 6, "{cuts:?}");
    cuts
}

/// Asks until it is done.
async fn done(app: &App, request: &Request) -> Response {
    until("it is done", || async {
        let answer = app.send(request).await;
        assert!(HONEST.contains(&answer.status), "{answer:?}");
        (answer.status == 201).then_some(answer)
    })
    .await
}

async fn assert_replay_of_done(app: &App, request: &Request, retry: &Response) {
    let again = app.send(request).await;
    assert!(again.is_replay());
    if retry.is_replay() {
        assert_eq!(again.comparable(), retry.comparable());
    } else {
        assert_replay(retry, &again);
    }
}
