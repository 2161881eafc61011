//! The outbox: a message is sent if its operation has committed, at least once, and in order where it is asked for. How
//! these cases queue and what several of them check; no case lives here.

mod claiming;
mod delivering;
mod failing;
mod identity;
mod inbox;
mod killed;
mod ordering;
mod pruning;
mod requeueing;
mod stopping;
mod waking;

use idem_tests::outbox::{
    OUTBOX, die_at_every_boundary, ids, killed, message, mortal, ordered, plain, queue, queueing,
    release_taken, under, unsent, with,
};
use idem_tests::{App, Launch, Request, Stage, until};
use serde_json::Value;
use tempfile::TempDir;

/// The file that relays write what has arrived into.
struct Letters(TempDir);

impl Letters {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// The application with a relay that writes here, and looks often.
    fn relay(&self, stage: &Stage) -> Launch {
        let target = format!("file:{}", self.0.path().join("letters").display());
        stage.app().argument("--relay").argument(&target)
    }

    /// What has arrived, in its order.
    fn all(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.path().join("letters")).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("a letter"))
            .collect()
    }

    /// Returns when so many have arrived, and no row waits any more.
    async fn arrived(&self, stage: &Stage, count: usize) -> Vec<Value> {
        until("the messages have arrived", || async {
            // Read behind the rows: what was sent in between would not be in them.
            let is_done = unsent(stage).await == 0;
            let letters = self.all();
            (is_done && letters.len() >= count).then_some(letters)
        })
        .await
    }
}

/// What an operator sees of dead messages.
async fn dead(app: &App) -> Vec<Value> {
    let answer = app.send(&Request::get("/dead")).await.json();
    answer.as_array().expect("a list").clone()
}

async fn rows(stage: &Stage) -> i64 {
    stage
        .database
        .number("SELECT count(*) FROM idempotency_outbox")
        .await
}

fn payloads(letters: &[Value]) -> Vec<&Value> {
    letters.iter().map(|letter| &letter["payload"]).collect()
}

/// Each distinct one once, in the order of the first.
fn firsts(letters: &[Value]) -> Vec<Value> {
    let mut seen = Vec::new();
    for letter in letters {
        if !seen.contains(&letter["id"]) {
            seen.push(letter["id"].clone());
        }
    }
    let first = |id: &Value| letters.iter().find(|letter| letter["id"] == *id).cloned();
    seen.iter().filter_map(first).collect()
}
