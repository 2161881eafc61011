//! Calls and transactions as steps: database work once, calls with one derived key each.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{LONGER_THAN_A_LEASE, Who, Workload, nap, one_in, operation, set, variant};
use crate::plan::{Operation, Variant};

pub(crate) struct Steps;

const NAMES: [&str; 5] = ["reserve", "charge", "order", "notify", "archive"];

impl Workload for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn weight(&self) -> u32 {
        4
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation {
        let mut asked = variant(rng, &who, "");
        with_steps(rng, &mut asked);
        let oversleeps = asked.script["heartbeat"] == false;
        let mut operation = operation(self.name(), "/steps/script", who, asked);
        // Nobody else would take it over.
        operation.manners.hangs_up_at_first = oversleeps;
        operation.manners.asks_again = rng.u32(..2);
        operation
    }
}

/// Takes steps instead of one insert.
pub(super) fn with_steps(rng: &mut Rng, variant: &mut Variant) {
    let count = rng.usize(2..=NAMES.len());
    let failing = rng.usize(..count * 4);
    let mut calls = 0;
    let mut steps: Vec<Value> = NAMES[..count]
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let is_call = rng.bool();
            calls += usize::from(is_call);
            let kind = if is_call { "call" } else { "transaction" };
            let mut step = json!({ "name": name, "kind": kind, "sleep_ms": nap(rng) / 2 });
            if index == failing {
                step["fail"] = if rng.bool() { "err" } else { "panic" }.into();
                step["fails"] = 1.into();
            }
            step
        })
        .collect();
    variant.effects = (count - calls) as u64;
    variant.is_atomic = false;
    variant.calls = calls;
    variant.may_repeat_calls = true;
    if one_in(rng, 6) {
        // Its lease runs out in the second step, and whoever takes over has the first one behind it. Each process
        // oversleeps once: otherwise it would never come to an end.
        set(variant, "heartbeat", false.into());
        steps[1]["sleep_ms"] = json!(LONGER_THAN_A_LEASE);
        steps[1]["sleeps"] = 1.into();
    }
    set(variant, "steps", Value::Array(steps));
}
