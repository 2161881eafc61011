//! What the program says when it is ready: where it is, and commands to try. No logic.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::db::Database;
use crate::outlet::Outlet;

/// Prints the address and the commands. The keys are new ones at each start, or a second look at the program
/// would begin with a replay.
pub(crate) fn print(address: SocketAddr, database: &Database, outlet: &Outlet) {
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let post = |path: &str, key: &str, body: &str| {
        format!(
            "curl -i http://{address}{path} -H 'Authorization: Bearer alice:demo' \\\n    \
             -H 'Content-Type: application/json' -H 'Idempotency-Key: \"{key}-{}\"' \\\n    \
             -d '{body}'",
            started.as_millis()
        )
    };
    let first = post(
        "/orders",
        "order",
        r#"{"items":[{"sku":"tea","quantity":2}]}"#,
    );
    let other = post(
        "/orders",
        "order",
        r#"{"items":[{"sku":"tea","quantity":200}]}"#,
    );
    let ship = post(
        "/orders/1/shipments",
        "shipment",
        r#"{"to":"1 High Street"}"#,
    );
    let receipts = match outlet {
        Outlet::Webhook(None, _) => format!(
            "Its receipt, queued in the same transaction, is posted to the program itself. It is here within a second, \
             once:\n\n  \
             curl http://{address}/receipts -H 'Authorization: Bearer alice:demo'"
        ),
        Outlet::Webhook(Some(_), _) => {
            "Its receipt, queued in the same transaction, is posted to ORDERS_RECEIPTS_URL."
                .to_owned()
        }
        Outlet::Nats(_) => {
            "Its receipt, queued in the same transaction, goes to the stream `orders` of NATS."
                .to_owned()
        }
    };
    println!(
        "orders listens on http://{address} ({database}); the API is described at http://{address}/docs/\n\n\
         With a browser: http://{address}/checkout/ is a page that orders, and can be told to lose answers on the way.\n\n\
         A first attempt is answered with 201 and takes two of the tea:\n\n  {first}\n\n\
         Its retry gets the same answer with `idempotent-replayed: true`, and takes nothing:\n\n  {first}\n\n\
         {receipts}\n\n\
         The same key with another body is a mistake, 422:\n\n  {other}\n\n\
         This one calls a courier (for order 1; put another number there). Before it answers, say `kill -9 {}`, start \
         the\nprogram and send it again: 409 until the courier has been asked, then the answer, and one parcel:\n\n  \
         {ship}\n",
        std::process::id()
    );
}
