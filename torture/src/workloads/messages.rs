//! Messages that operations queue beside their effects. Some share an ordering key with those of other operations and
//! other tenants.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{ACCOUNT, one_in, set};
use crate::plan::{Queued, Variant};

/// In transaction mode, in front of everything else and behind it.
pub(super) const PATH: &str = "/outbox/script";

/// So few that operations meet in them, and so many that not all of them wait for one another. An operation's own
/// messages are often in the same one.
const ORDERS: u8 = 16;
const TOPICS: [&str; 2] = ["orders", "mails"];

/// One to three of them, queued in the one transaction.
pub(super) fn with_messages(rng: &mut Rng, variant: &mut Variant) {
    let mut in_front = scripts(rng, variant);
    let behind = in_front.split_off(rng.usize(..=in_front.len()));
    set(variant, "messages", in_front.into());
    set(variant, "afterwards", behind.into());
}

/// The same for a handler that queues in front of everything else only.
pub(super) fn with_messages_in_front(rng: &mut Rng, variant: &mut Variant) {
    let in_front = scripts(rng, variant);
    set(variant, "messages", in_front.into());
}

fn scripts(rng: &mut Rng, variant: &mut Variant) -> Vec<Value> {
    let count = rng.usize(1..=3);
    let mut orders = match (order(rng), one_in(rng, 3)) {
        (common, false) => vec![common; count],
        (_, true) => (0..count).map(|_| order(rng)).collect(),
    };
    // Taken in one order everywhere, or two transactions could wait for each other.
    orders.sort_unstable();
    orders
        .into_iter()
        .map(|order| one_more(rng, variant, order))
        .collect()
}

/// One, queued by a step.
pub(super) fn of_step(rng: &mut Rng, variant: &mut Variant) -> Value {
    let order = order(rng);
    Value::Array(vec![one_more(rng, variant, order)])
}

fn order(rng: &mut Rng) -> Option<String> {
    let is_loose = one_in(rng, 3);
    (!is_loose).then(|| format!("order-{:02}", rng.u8(..ORDERS)))
}

/// Its script.
fn one_more(rng: &mut Rng, variant: &mut Variant, order: Option<String>) -> Value {
    let payload = json!({
        "label": variant.label,
        "number": variant.messages.len(),
        "account": ACCOUNT,
        "pad": "x".repeat(if one_in(rng, 20) { rng.usize(..20_000) } else { 0 }),
    });
    let script = json!({
        "topic": rng.choice(TOPICS),
        "payload": payload,
        "order": order,
    });
    variant.messages.push(Queued { payload, order });
    script
}
