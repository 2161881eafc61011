//! Clients that go on until they are told to stop, and what they remember: which operations they began, and the answers
//! that were final. No assertion about what the database holds lives here.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem_tests::{Request, Response, send, until};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Transaction,
    Lease,
}

/// One operation of one client.
pub(crate) struct Operation {
    pub(crate) mode: Mode,
    pub(crate) label: String,
    /// How it ended for the client, which may have given up.
    pub(crate) answer: Option<Response>,
    pub(crate) answered: Instant,
    /// Whether the first attempt already gave the answer.
    pub(crate) is_smooth: bool,
}

pub(crate) struct Load {
    clients: Vec<JoinHandle<Vec<Operation>>>,
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

struct Client {
    number: usize,
    apps: Vec<SocketAddr>,
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

impl Mode {
    pub(crate) fn request(self, label: &str) -> Request {
        let (path, script) = match self {
            Self::Transaction => ("/account/script", marking(label)),
            Self::Lease => ("/steps/script", stepping(label)),
        };
        Request::post(path)
            .bearer("acme:one")
            .key(label)
            .json(&script)
    }
}

/// One effect.
fn marking(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": label })
}

/// In lease mode, where this one of the three steps waits at a gate of the label's name.
pub(crate) fn gated(label: &str, step: usize) -> Request {
    let mut script = stepping(label);
    script["steps"][step]["gate"] = label.into();
    leased(label, &script)
}

/// In lease mode, with a step in the database alone, which waits at a gate of the label's name.
pub(crate) fn gated_alone(label: &str) -> Request {
    let mut script = marking(label);
    script["steps"] = json!([{ "name": "order", "kind": "transaction", "gate": label }]);
    leased(label, &script)
}

fn leased(label: &str, script: &Value) -> Request {
    let request = Request::post("/steps/script").bearer("acme:one");
    request.key(label).json(script)
}

/// An outside call, database work, an outside call.
fn stepping(label: &str) -> Value {
    json!({ "label": label, "status": 201, "body": label, "steps": [
        { "name": "charge", "kind": "call" },
        { "name": "order", "kind": "transaction" },
        { "name": "notify", "kind": "call" },
    ] })
}

impl Load {
    /// So many clients, in turn over the applications and the modes. Every fourth pair of them gives an operation up
    /// whose first attempt has no final answer; the others ask until there is one.
    pub(crate) fn start(clients: usize, apps: &[SocketAddr]) -> Self {
        let (is_over, done) = (Arc::default(), Arc::default());
        let client = |number| Client {
            number,
            apps: apps.to_vec(),
            is_over: Arc::clone(&is_over),
            done: Arc::clone(&done),
        };
        let clients = (0..clients).map(|number| tokio::spawn(client(number).run()));
        Self {
            clients: clients.collect(),
            is_over: Arc::clone(&is_over),
            done: Arc::clone(&done),
        }
    }

    /// Returns when so many more operations have ended well.
    pub(crate) async fn more(&self, count: usize) {
        let enough = self.done.load(Ordering::SeqCst) + count;
        until("some more operations are done", || async {
            (self.done.load(Ordering::SeqCst) >= enough).then_some(())
        })
        .await;
    }

    /// Each client ends the operation that it is at.
    pub(crate) async fn stop(self) -> Vec<Operation> {
        self.is_over.store(true, Ordering::SeqCst);
        let mut operations = Vec::new();
        for client in self.clients {
            operations.extend(client.await.unwrap());
        }
        operations
    }
}

impl Client {
    async fn run(self) -> Vec<Operation> {
        let mode = [Mode::Transaction, Mode::Lease][self.number % 2];
        let gives_up = self.number / 2 % 4 == 3;
        let mut operations = Vec::new();
        while !self.is_over.load(Ordering::SeqCst) {
            let label = format!("client{}-{}", self.number, operations.len());
            let request = mode.request(&label);
            let mut attempts = 0;
            let answer = loop {
                attempts += 1;
                let answer = self.attempt(&request, attempts).await;
                if answer.is_some() || gives_up {
                    break answer;
                }
                // What a client does that was told to come back, only sooner.
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            self.done
                .fetch_add(usize::from(answer.is_some()), Ordering::SeqCst);
            operations.push(Operation {
                mode,
                label,
                answer,
                answered: Instant::now(),
                is_smooth: attempts == 1,
            });
        }
        operations
    }

    /// The final answer, if it is one; every other one says that the same request may be sent again.
    async fn attempt(&self, request: &Request, attempt: usize) -> Option<Response> {
        let app = self.apps[(self.number / 2 + attempt) % self.apps.len()];
        let answer = send(app, request).await.ok()?;
        if answer.status == 201 {
            return Some(answer);
        }
        // 502 is the handler's own word for an error of its database.
        let is_known = matches!(answer.status, 409 | 500 | 502 | 503);
        assert!(is_known, "{answer:?}");
        let comes_back = answer.header("Retry-After").is_some();
        assert!(
            comes_back || !matches!(answer.status, 409 | 503),
            "{answer:?}"
        );
        None
    }
}
