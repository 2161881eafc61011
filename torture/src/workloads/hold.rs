//! An effect and a call, both outside of any transaction of ours, never repeated by itself: the reconciler or the
//! operator says how it ended where nobody knows.

use fastrand::Rng;
use serde_json::json;

use super::{LONGER_THAN_A_LEASE, Who, Workload, failing_first, one_in, operation, set, variant};
use crate::plan::{Operation, Settler};

pub(crate) struct Hold;

impl Workload for Hold {
    fn name(&self) -> &'static str {
        "hold"
    }

    fn weight(&self) -> u32 {
        3
    }

    fn needs_leases(&self) -> bool {
        true
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let mut asked = variant(rng, &who, "");
        asked.is_atomic = false;
        asked.has_effects_first = true;
        asked.calls = 1;
        set(&mut asked, "call", true.into());
        if one_in(rng, 8) {
            failing_first(rng, &mut asked);
        }
        if one_in(rng, 12) {
            set(&mut asked, "heartbeat", false.into());
            set(&mut asked, "sleep_ms", json!(LONGER_THAN_A_LEASE));
        }
        let mut operation = operation(self.name(), "/hold/script", who, asked);
        operation.settler = Settler::Operator;
        operation
    }
}
