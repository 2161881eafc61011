//! `idem-client` against the real application: its process dies, its connections break, its database goes away, and each
//! operation happens once.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod broken;
mod killed;
mod told;

use std::net::SocketAddr;
use std::time::Duration;

use idem_client::{Builder, ExponentialBuilder, IdempotentClient, Outcome, Request};
use serde_json::{Value, json};

/// Longer than anything takes that has to be waited for.
const PATIENCE: Duration = Duration::from_secs(60);

fn builder() -> Builder {
    IdempotentClient::builder()
        .budget(PATIENCE)
        .backoff(backoff())
}

/// Pauses that a restart fits into.
fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(5))
        .with_max_delay(Duration::from_millis(200))
        .without_max_times()
}

fn client() -> IdempotentClient {
    builder().build().unwrap()
}

/// One that gives up then, whatever it was told.
fn giving_up_after(attempts: usize) -> IdempotentClient {
    let backoff = backoff().with_max_times(attempts - 1);
    builder().backoff(backoff).build().unwrap()
}

/// A script, asked for by the account `acme`.
fn ask(client: &IdempotentClient, address: SocketAddr, path: &str, script: &Value) -> Request {
    let request = client.post(format!("http://{address}{path}"));
    request.bearer_auth("acme:one").json(script)
}

fn marking(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": "done" })
}

fn gated(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": "done", "gate": label })
}

/// The answer of the script is there.
#[track_caller]
fn assert_done(outcome: &Outcome) {
    let Outcome::Done(done) = outcome else {
        panic!("{outcome:?}");
    };
    let answer = done.answer();
    assert_eq!(
        (answer.status().as_u16(), &answer.body()[..]),
        (201, &b"done"[..])
    );
}

#[track_caller]
fn code(outcome: &Outcome) -> &str {
    let problem = outcome.problem().unwrap_or_else(|| panic!("{outcome:?}"));
    problem.code().unwrap()
}
