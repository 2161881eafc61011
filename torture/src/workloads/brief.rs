//! One transaction whose record is honoured for two seconds: asked again later, it is another operation, and so are its
//! messages.

use fastrand::Rng;
use serde_json::json;

use super::messages::with_messages;
use super::{Who, Workload, operation, set, variant};
use crate::plan::Operation;

pub(crate) struct Brief;

const WINDOW: u64 = 2_000_000;

impl Workload for Brief {
    fn name(&self) -> &'static str {
        "brief"
    }

    fn weight(&self) -> u32 {
        1
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let mut asked = variant(rng, &who, "");
        set(&mut asked, "sleep_ms", json!(rng.u64(..100)));
        with_messages(rng, &mut asked);
        let mut operation = operation(self.name(), "/outbox-brief/script", who, asked);
        operation.window = WINDOW;
        operation.manners.asks_again = 3;
        operation.manners.rests = rng.u64(300..1_500);
        operation
    }
}
