//! A call with a derived key, which whoever takes the claim over makes again.

use fastrand::Rng;
use serde_json::json;

use super::{MOST_OF_A_LEASE, Who, Workload, failing_first, one_in, operation, set, variant};
use crate::plan::{Operation, Settler};

pub(crate) struct Rerun;

impl Workload for Rerun {
    fn name(&self) -> &'static str {
        "rerun"
    }

    fn weight(&self) -> u32 {
        3
    }

    fn needs_leases(&self) -> bool {
        true
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let mut asked = variant(rng, &who, "");
        asked.effects = 0;
        asked.calls = 1;
        asked.may_repeat_calls = true;
        set(&mut asked, "effects", 0.into());
        set(&mut asked, "call", true.into());
        if one_in(rng, 6) {
            failing_first(rng, &mut asked);
        }
        if one_in(rng, 12) {
            set(&mut asked, "heartbeat", false.into());
            set(&mut asked, "sleep_ms", json!(MOST_OF_A_LEASE));
        }
        let mut operation = operation(self.name(), "/rerun/script", who, asked);
        // The reconciler is asked about these as well.
        operation.settler = Settler::Reconciler;
        operation
    }
}
