//! Where the cases run, how they ask, and what several of them check. No case lives here.

use std::env;
use std::net::SocketAddr;

use idem_tests::{App, Request, Response, Stage, all_at_once, send, until};
use serde_json::{Value, json};

const NODES: &str = "IDEM_TEST_GALERA_URLS";

pub(crate) const TESTAPP: &str = env!("CARGO_BIN_EXE_idem-testapp");

/// In transaction mode, without another run.
pub(crate) const ONCE: &str = "/account/script";
/// In lease mode, with a step in the database between two calls.
pub(crate) const STEPS: &str = "/steps/script";

/// A database, and an application at each of the nodes.
pub(crate) async fn stage() -> (Stage, Vec<App>) {
    let nodes = env::var(NODES);
    let nodes =
        nodes.unwrap_or_else(|_| panic!("{NODES} is not set: `cargo xtask galera` sets it"));
    let nodes: Vec<_> = nodes.split(',').map(String::from).collect();
    on_nodes(&nodes).await
}

pub(crate) async fn on_nodes(nodes: &[String]) -> (Stage, Vec<App>) {
    let stage = Stage::of_nodes(nodes, TESTAPP).await;
    let mut apps = Vec::new();
    for node in 0..nodes.len() {
        apps.push(stage.start_at(node).await);
    }
    (stage, apps)
}

pub(crate) fn ask(path: &str, key: &str, script: &Value) -> Request {
    Request::post(path).bearer("acme:one").key(key).json(script)
}

/// A script that leaves its mark and answers with it; no two runs of it answer the same.
pub(crate) fn marking(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": label, "nonce": true })
}

/// The script with these members besides.
pub(crate) fn with(script: &Value, members: &Value) -> Value {
    let mut script = script.clone();
    for (name, value) in members.as_object().unwrap() {
        script[name] = value.clone();
    }
    script
}

/// An outside call, database work, an outside call; the step of this number waits at a gate of the label's name.
pub(crate) fn stepping_gated(label: &str, step: usize) -> Value {
    let mut script = stepping(label);
    script["steps"][step]["gate"] = json!(label);
    script
}

pub(crate) fn stepping(label: &str) -> Value {
    with(
        &marking(label),
        &json!({ "steps": [
            { "name": "charge", "kind": "call" },
            { "name": "order", "kind": "transaction" },
            { "name": "notify", "kind": "call" },
        ] }),
    )
}

/// The same request `count` times at one moment, in turn over the nodes.
pub(crate) async fn storm(apps: &[App], count: usize, request: &Request) -> Vec<Response> {
    let addresses: Vec<SocketAddr> = apps.iter().map(App::address).collect();
    all_at_once(count, |index| {
        let (address, request) = (addresses[index % addresses.len()], request.clone());
        async move { send(address, &request).await.expect("an answer") }
    })
    .await
}

/// Sends it until the answer is final.
pub(crate) async fn settled(app: &App, request: &Request) -> Response {
    until("the answer is final", || async {
        let answer = app.send(request).await;
        (answer.status < 400).then_some(answer)
    })
    .await
}

/// One is the original; each other is its replay, or says that the same request may come again.
#[track_caller]
pub(crate) fn assert_one_original(answers: &[Response]) -> &Response {
    let originals: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status < 400 && !answer.is_replay())
        .collect();
    assert_eq!(originals.len(), 1, "{answers:#?}");
    for answer in answers {
        match answer.status {
            409 => assert_in_flight(answer),
            _ => assert_eq!(answer.comparable(), originals[0].comparable()),
        }
    }
    originals[0]
}

#[track_caller]
pub(crate) fn assert_in_flight(answer: &Response) {
    answer.assert_problem(409, "idempotency-in-flight", true);
    assert!(answer.header("Retry-After").is_some(), "{answer:?}");
}

#[track_caller]
pub(crate) fn assert_original(answer: &Response) {
    let found = (answer.status, answer.is_replay());
    assert_eq!(found, (201, false), "{answer:?}");
}

#[track_caller]
pub(crate) fn assert_replay(original: &Response, replay: &Response) {
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(replay.comparable(), original.comparable());
}

/// The one answer at every node, and one effect.
pub(crate) async fn assert_once(
    stage: &Stage,
    apps: &[App],
    request: &Request,
    label: &str,
    original: &Response,
) {
    for app in apps {
        assert_replay(original, &settled(app, request).await);
    }
    assert_eq!(stage.database.effects(label).await, 1, "{label}");
}

/// How often a handler was entered, at all nodes together.
pub(crate) async fn entered(apps: &[App], label: &str) -> u64 {
    let mut count = 0;
    for app in apps {
        count += app.entered(label).await;
    }
    count
}
