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

use idem_tests::{App, Launch, Request, Stage, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::asking::ask;

const OUTBOX: &str = "/outbox/script";

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

/// Option and value.
fn with(launch: Launch, options: &[(&str, u32)]) -> Launch {
    let add = |launch: Launch, (name, value): &(&str, u32)| {
        launch.argument(name).argument(&value.to_string())
    };
    options.iter().fold(launch, add)
}

fn message(topic: &str, payload: Value) -> Value {
    json!({ "topic": topic, "payload": payload })
}

fn ordered(topic: &str, payload: Value, order: &str) -> Value {
    json!({ "topic": topic, "payload": payload, "order": order })
}

/// The message with these headers.
fn under(mut message: Value, headers: Value) -> Value {
    message["headers"] = headers;
    message
}

/// A script that leaves its mark and queues these.
fn queueing(label: &str, messages: &[Value]) -> Value {
    json!({ "label": label, "status": 201, "body": "done", "messages": messages })
}

/// Queues these by one operation.
async fn queue(app: &App, key: &str, messages: &[Value]) {
    let answer = app.send(&ask(OUTBOX, key, &queueing(key, messages))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
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

async fn unsent(stage: &Stage) -> i64 {
    let query = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NULL AND dead_at IS NULL";
    stage.database.number(query).await
}

/// The ids of all rows, in their order.
async fn ids(stage: &Stage) -> Vec<String> {
    let query = match stage.backend() {
        idem_tests::Backend::Postgres => {
            "SELECT string_agg(message_id::text, ',' ORDER BY position) FROM idempotency_outbox"
        }
        idem_tests::Backend::Mysql => {
            "SELECT group_concat(lower(hex(message_id)) ORDER BY position) FROM idempotency_outbox"
        }
        idem_tests::Backend::Sqlite => {
            "SELECT group_concat(lower(hex(message_id)), ',')
             FROM (SELECT message_id FROM idempotency_outbox ORDER BY position)"
        }
    };
    let text = stage.database.text(query).await.unwrap_or_default();
    text.split(',').map(plain).collect()
}

/// Without what not everybody writes.
fn plain(id: &str) -> String {
    id.replace('-', "")
}

/// Whoever has taken messages is dead: they are due now.
async fn release_taken(stage: &Stage) {
    let past = match stage.backend() {
        idem_tests::Backend::Postgres => "clock_timestamp() - interval '1 minute'",
        idem_tests::Backend::Mysql => "timestampadd(MINUTE, -1, utc_timestamp(6))",
        idem_tests::Backend::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now', '-60 seconds')",
    };
    let release = format!(
        "UPDATE idempotency_outbox SET available_at = {past} WHERE owner IS NOT NULL AND sent_at IS NULL"
    );
    stage.database.execute(&release).await;
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
