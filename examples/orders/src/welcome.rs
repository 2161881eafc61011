//! What the program says when it is ready: where it is, and three commands to try. No logic.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::db::Database;

/// Prints the address and the commands. The key is a new one at each start, or a second look at the program
/// would begin with a replay.
pub(crate) fn print(address: SocketAddr, database: &Database) {
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let key = format!("order-{}", started.as_millis());
    let post = |body: &str| {
        format!(
            "curl -i http://{address}/orders -H 'Authorization: Bearer alice:demo' \\\n    \
             -H 'Content-Type: application/json' -H 'Idempotency-Key: \"{key}\"' \\\n    \
             -d '{body}'"
        )
    };
    let first = post(r#"{"items":[{"sku":"tea","quantity":2}]}"#);
    let other = post(r#"{"items":[{"sku":"tea","quantity":200}]}"#);
    println!(
        "orders listens on http://{address} ({database})\n\n\
         A first attempt is answered with 201 and takes two of the tea:\n\n  {first}\n\n\
         Its retry gets the same answer with `idempotent-replayed: true`, and takes nothing:\n\n  {first}\n\n\
         The same key with another body is a mistake, 422:\n\n  {other}\n"
    );
}
