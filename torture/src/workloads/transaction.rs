//! One transaction: an effect and its record, or neither, and messages with them. Some are refused by the domain, some
//! fail at first, and some ask for serializable.

use fastrand::Rng;

use super::messages::{self, with_messages, with_messages_in_front};
use super::{Who, Workload, failing_first, one_in, operation, set, variant};
use crate::plan::Operation;

pub(crate) struct Transaction;

const SERIALIZABLE: &str = "/outbox-serializable/script";
const PATHS: [&str; 6] = [
    "/account/script",
    "/account/script",
    messages::PATH,
    messages::PATH,
    "/serializable/script",
    SERIALIZABLE,
];

impl Workload for Transaction {
    fn name(&self) -> &'static str {
        "transaction"
    }

    fn weight(&self) -> u32 {
        8
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let mut asked = variant(rng, &who, "");
        if one_in(rng, 8) {
            // Recorded as well, and its effects are rolled back.
            let status = rng.choice([402, 404, 410]).unwrap_or(402);
            asked.status = status;
            asked.effects = 0;
            set(&mut asked, "status", status.into());
        } else {
            let effects = rng.u64(1..=3);
            asked.effects = effects;
            set(&mut asked, "effects", effects.into());
            if one_in(rng, 6) {
                failing_first(rng, &mut asked);
            }
        }
        let path = rng.choice(PATHS).unwrap_or(PATHS[0]);
        match path {
            messages::PATH => with_messages(rng, &mut asked),
            SERIALIZABLE => with_messages_in_front(rng, &mut asked),
            _ => {}
        }
        let mut operation = operation(self.name(), path, who, asked);
        operation.manners.asks_again = rng.u32(..3);
        operation
    }
}
