//! Lease mode: the claim is committed before the handler runs, and no connection is held while it does. How these cases
//! ask and what several of them check; no case lives here.

mod accept;
mod background;
mod changed;
mod crash;
mod cut;
mod heartbeat;
mod holding;
mod horizon;
mod outage;
mod pruning;
mod reconcile;
mod rerunning;
mod steps;
mod takeover;
mod wire;

use idem_tests::{App, Launch, Request, Response, Stage, until};
use serde_json::{Value, json};

pub(crate) const HOLD: &str = "/hold/script";
pub(crate) const RERUN: &str = "/rerun/script";
pub(crate) const STEPS: &str = "/steps/script";
pub(crate) const BACKGROUND: &str = "/background/script";

/// A script of three steps: an outside call, database work, an outside call.
pub(crate) fn stepping(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": "done", "steps": [
        { "name": "charge", "kind": "call" },
        { "name": "order", "kind": "transaction" },
        { "name": "notify", "kind": "call" },
    ] })
}

/// [`stepping`], where the step of this number has these members too.
pub(crate) fn stepping_with(label: &str, step: usize, members: &Value) -> Value {
    let mut script = stepping(label);
    let steps = &mut script["steps"];
    steps[step] = with(&steps[step], members);
    script
}

/// [`stepping`], where the step of this number waits at a gate of the label's name.
pub(crate) fn stepping_gated(label: &str, step: usize) -> Value {
    stepping_with(label, step, &json!({ "gate": label }))
}

/// The object with these members besides.
pub(crate) fn with(object: &Value, members: &Value) -> Value {
    let mut object = object.clone();
    for (name, value) in members.as_object().unwrap() {
        object[name] = value.clone();
    }
    object
}

/// The script with a claim that nobody renews, so that its lease can be outlived.
fn without_heartbeat(script: &Value) -> Value {
    with(script, &json!({ "heartbeat": false }))
}

/// The application with one of its workers, which looks often.
pub(crate) fn with_worker(stage: &Stage, worker: &str) -> Launch {
    let launch = stage.app().argument(worker);
    launch.argument("--worker-interval-ms").argument("50")
}

/// Asks a process that is killed at the gate: the operation stays claimed, and nobody works on it.
pub(crate) async fn strand(stage: &Stage, request: &Request, gate: &str) {
    let victim = stage.start().await;
    let asked = victim.send_in_background(request);
    victim.reached(gate, 1).await;
    asked.abort();
    victim.kill().await;
}

/// Returns when no operation is pending any more.
async fn nothing_pending(stage: &Stage) {
    until("every operation is recorded", || async {
        (stage.database.pending().await == 0).then_some(())
    })
    .await;
}

#[track_caller]
fn assert_unresolved(answer: &Response) {
    answer.assert_problem(409, "idempotency-unresolved", true);
    assert!(answer.header("Retry-After").is_some(), "no Retry-After");
}

/// The handler's failure in our words; whether the key may be used again depends on the endpoint.
#[track_caller]
fn assert_failed(answer: &Response, status: u16) {
    let found = (answer.status, answer.code());
    assert_eq!(found, (status, "handler-failed".into()));
}

#[track_caller]
fn assert_original(answer: &Response) {
    let found = (answer.status, answer.is_replay());
    assert_eq!(found, (201, false), "{}", answer.text());
}

/// Of a script of [`stepping`]'s: each outside call was made, and made once for a provider that de-duplicates; the
/// database work was done exactly once.
async fn assert_steps_done_once(app: &App, label: &str) {
    let effects = app.effects(label).await;
    let found = (effects.committed, effects.calls.len());
    assert_eq!(found, (1, 2), "{effects:?}");
}

/// How often the outside world was called in all, key by key, in no order.
async fn calls(app: &App, label: &str) -> Vec<u64> {
    let mut counts: Vec<_> = app.effects(label).await.calls.into_values().collect();
    counts.sort_unstable();
    counts
}
