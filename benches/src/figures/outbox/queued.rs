//! Messages by the hundred thousand: in a table, made by the database itself, or in memory, as a relay hands them out.

use idem_runtime::outbox::{Message, OutboxMessage};
use idem_runtime::testing::outbox_message;
use idem_tests::{Backend, Database};
use uuid::Uuid;

use crate::Outcome;
use crate::bench::Bench;

/// A subject, and a queue.
pub(super) const TOPIC: &str = "bench";
const PAYLOAD: usize = 300;

/// The columns that a handler's message has.
pub(super) const COLUMNS: &str = "message_id, scope, key, topic, ordering_key, headers, content_type, payload, \
     enqueued_at, available_at";

/// Due, each in no order, or one after the other in so many orders.
pub(super) async fn fill(
    bench: &Bench,
    database: &Database,
    count: u64,
    orders: Option<u32>,
) -> Outcome {
    let order = orders.map_or("NULL".to_owned(), |orders| {
        format!("'order-' || (n % {orders})")
    });
    let (id, payload, now, numbers) = match database.backend() {
        Backend::Postgres => (
            "gen_random_uuid()",
            format!("convert_to(repeat('x', {PAYLOAD}), 'UTF8')"),
            "now()",
            format!("generate_series(1, {count}) AS n"),
        ),
        Backend::Mysql => return Err("nothing is queued there to be measured".into()),
        Backend::Sqlite => (
            "randomblob(16)",
            format!("CAST(printf('%.*c', {PAYLOAD}, 'x') AS BLOB)"),
            "strftime('%Y-%m-%d %H:%M:%f', 'now')",
            format!(
                "(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) \
                 SELECT n FROM numbers)"
            ),
        ),
    };
    database
        .execute(&format!(
            "INSERT INTO idempotency_outbox ({COLUMNS})
             SELECT {id}, 'account:bench', 'k' || n, '{TOPIC}', {order}, '[]', 'application/json', {payload}, {now}, {now}
             FROM {numbers}"
        ))
        .await;
    if let Backend::Postgres = database.backend() {
        database
            .execute("VACUUM (ANALYZE) idempotency_outbox")
            .await;
    }
    bench.checkpoint().await
}

/// The same as a relay has them.
pub(super) fn in_memory(count: u64) -> Vec<OutboxMessage> {
    let message = Message::bytes(TOPIC, vec![b'x'; PAYLOAD]).content_type("application/json");
    let messages = (0..count).map(|_| outbox_message(Uuid::new_v4(), message.clone()));
    messages.collect()
}
