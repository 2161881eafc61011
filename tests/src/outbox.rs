//! An outbox as tests see it: what an operation queues, what stands in the table, and relays that die in front of it.
//! What should have become of messages is for the tests to say.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};

use crate::{App, Backend, Launch, Request, Stage, until};

/// What queues as its script says, in transaction mode.
pub const OUTBOX: &str = "/outbox/script";

const SIGKILL: i32 = 9;
/// More things than diesel reports of any turn.
const FAR_TOO_MANY: u32 = 100;
/// Behind a kill at the last boundary of a turn comes one in the next turn, which finds nothing.
const SPARE: u32 = 3;

/// Option and value.
#[must_use]
pub fn with(launch: Launch, options: &[(&str, u32)]) -> Launch {
    let add = |launch: Launch, (name, value): &(&str, u32)| {
        launch.argument(name).argument(&value.to_string())
    };
    options.iter().fold(launch, add)
}

/// A relay that dies where a message says so, with `X-Die-Before` or `X-Die`. By the number of its attempts it could not
/// tell: one that a process dies of is not counted.
#[must_use]
pub fn mortal(relay: Launch) -> Launch {
    relay.argument("--relay-mortal")
}

/// A message in no order.
pub fn message(topic: &str, payload: Value) -> Value {
    json!({ "topic": topic, "payload": payload })
}

/// A message with this ordering key.
pub fn ordered(topic: &str, payload: Value, order: &str) -> Value {
    json!({ "topic": topic, "payload": payload, "order": order })
}

/// The message with these headers.
pub fn under(mut message: Value, headers: Value) -> Value {
    message["headers"] = headers;
    message
}

/// A script that leaves its mark and queues these.
pub fn queueing(label: &str, messages: &[Value]) -> Value {
    json!({ "label": label, "status": 201, "body": "done", "messages": messages })
}

/// Queues these by one operation of the account `acme`.
pub async fn queue(app: &App, key: &str, messages: &[Value]) {
    let request = Request::post(OUTBOX).bearer("acme:one").key(key);
    let answer = app.send(&request.json(&queueing(key, messages))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Messages that are neither sent nor dead.
pub async fn unsent(stage: &Stage) -> i64 {
    let query = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NULL AND dead_at IS NULL";
    stage.database.number(query).await
}

/// The ids of all rows, in their order.
pub async fn ids(stage: &Stage) -> Vec<String> {
    let query = match stage.backend() {
        Backend::Postgres => {
            "SELECT string_agg(message_id::text, ',' ORDER BY position) FROM idempotency_outbox"
        }
        Backend::Mysql => {
            "SELECT group_concat(lower(hex(message_id)) ORDER BY position) FROM idempotency_outbox"
        }
        Backend::Sqlite => {
            "SELECT group_concat(lower(hex(message_id)), ',')
             FROM (SELECT message_id FROM idempotency_outbox ORDER BY position)"
        }
    };
    let text = stage.database.text(query).await.unwrap_or_default();
    text.split(',').map(plain).collect()
}

/// An id without what not everybody writes.
pub fn plain(id: &str) -> String {
    id.replace('-', "")
}

/// Whoever has taken messages is dead: they are due now.
pub async fn release_taken(stage: &Stage) {
    let past = stage.backend().ago(60);
    let release = format!(
        "UPDATE idempotency_outbox SET available_at = {past} WHERE owner IS NOT NULL AND sent_at IS NULL"
    );
    stage.database.execute(&release).await;
}

/// Waits until it has been killed, by itself or by somebody.
pub async fn killed(app: App) {
    assert_eq!(app.ended().await.signal(), Some(SIGKILL));
}

/// A relay is killed at the first thing that diesel reports of it, the next one at the second, and so on, until one has
/// nothing left to do; behind each comes one that lives. In front of each something is queued, and behind both something
/// is looked at. How many boundaries there are.
pub async fn die_at_every_boundary(
    stage: &Stage,
    relay: impl Fn() -> Launch,
    queue: impl AsyncFn(u32),
    look: impl AsyncFn(u32),
) -> u32 {
    let mut spare = SPARE;
    for at in 1..FAR_TOO_MANY {
        queue(at).await;
        // Otherwise it did not even come to say that it listens.
        if let Ok(victim) = with(relay(), &[("--die-at", at)]).try_start().await {
            killed(victim).await;
        }
        let was_done = unsent(stage).await == 0;
        release_taken(stage).await;
        let survivor = relay().start().await;
        all_sent(stage).await;
        survivor.kill().await;
        look(at).await;
        spare -= u32::from(was_done);
        if spare == 0 {
            return at;
        }
    }
    panic!("never got through");
}

/// Returns when no message waits any more.
pub async fn all_sent(stage: &Stage) {
    until("all is sent", || async {
        (unsent(stage).await == 0).then_some(())
    })
    .await;
}
