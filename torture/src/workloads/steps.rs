//! Calls and transactions as steps: database work once and a message with it, calls with one derived key each.

use fastrand::Rng;
use serde_json::{Value, json};

use super::messages::of_step;
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

    fn needs_leases(&self) -> bool {
        true
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

/// Which steps are calls where each process oversleeps its first turn of each call: somebody takes over, and both are at
/// the step between the calls while the operation is still pending.
const OVERSLEEPING: [bool; 4] = [false, true, false, true];

/// Takes steps instead of one insert.
pub(super) fn with_steps(rng: &mut Rng, variant: &mut Variant) {
    let oversleeps = one_in(rng, 10);
    let count = match oversleeps {
        true => OVERSLEEPING.len(),
        false => rng.usize(2..=NAMES.len()),
    };
    let failing = rng.usize(..count * 4);
    let mut calls = 0;
    let steps = NAMES[..count]
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let is_call = match oversleeps {
                true => OVERSLEEPING[index],
                false => rng.bool(),
            };
            calls += usize::from(is_call);
            let kind = if is_call { "call" } else { "transaction" };
            let mut step = json!({ "name": name, "kind": kind, "sleep_ms": nap(rng) / 2 });
            if !is_call {
                step["messages"] = of_step(rng, variant);
            }
            if oversleeps && is_call {
                step["sleep_ms"] = LONGER_THAN_A_LEASE.into();
                step["sleeps"] = 1.into();
            } else if index == failing {
                step["fail"] = if rng.bool() { "err" } else { "panic" }.into();
                step["fails"] = 1.into();
            }
            step
        })
        .collect();
    if oversleeps {
        set(variant, "heartbeat", false.into());
    }
    variant.effects = (count - calls) as u64;
    variant.is_atomic = false;
    variant.calls = calls;
    variant.may_repeat_calls = true;
    set(variant, "steps", Value::Array(steps));
}
