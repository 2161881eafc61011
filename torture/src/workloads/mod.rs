//! What clients ask for. A workload is one file and one line in [`ALL`]; it makes operations out of random numbers and
//! says what each of them promises. It sends nothing and checks nothing.

mod background;
mod brief;
mod conflict;
mod hold;
mod messages;
mod rerun;
mod steps;
mod transaction;
mod wait;

use std::sync::Arc;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::plan::{Manners, Operation, Settler, Variant};

pub(crate) const ALL: &[&dyn Workload] = &[
    &transaction::Transaction,
    &wait::Wait,
    &brief::Brief,
    &conflict::Conflict,
    &hold::Hold,
    &rerun::Rerun,
    &steps::Steps,
    &background::Background,
];

/// In every body that is answered, and nowhere else.
pub(crate) const ACCOUNT: &str = "1234567890123456789012";
/// A day, which no run lasts.
const WINDOW: u64 = 24 * 60 * 60 * 1_000_000;
/// Longer than any lease of the test application: for what is not run again by itself, or not as long again. Who is run
/// again and outlives its lease each time never comes to an end.
const LONGER_THAN_A_LEASE: u64 = 3_000;
/// Nearly too long for a lease that nothing renews.
const MOST_OF_A_LEASE: u64 = 1_200;

pub(crate) trait Workload: Sync {
    fn name(&self) -> &'static str;

    /// How often it comes up, beside the others.
    fn weight(&self) -> u32;

    /// Whether there is nothing of it without lease mode.
    fn needs_leases(&self) -> bool {
        false
    }

    fn operation(&self, rng: &mut Rng, who: Who) -> Operation;
}

/// Whose operation it is.
pub(crate) struct Who {
    pub(crate) tenant: String,
    pub(crate) key: String,
    pub(crate) id: String,
    /// Whether any application has handlers in lease mode.
    pub(crate) has_leases: bool,
}

/// Those in lease mode, which blocking handlers do not have.
const LEASED: [&str; 4] = [
    "/hold/script",
    "/rerun/script",
    "/steps/script",
    "/background/script",
];

/// An operation of one request.
fn operation(workload: &'static str, path: &'static str, who: Who, variant: Variant) -> Operation {
    Operation {
        id: who.id,
        workload,
        tenant: who.tenant,
        key: who.key,
        path,
        variants: vec![variant],
        manners: Manners::default(),
        window: WINDOW,
        settler: Settler::Nobody,
        is_driven: false,
        is_leased: LEASED.contains(&path),
    }
}

/// A script that inserts one row, sleeps a little and answers 201 with a body that names its tenant.
fn variant(rng: &mut Rng, who: &Who, name: &str) -> Variant {
    let label = format!("{}{name}", who.id);
    // Written in a way in which no serializer writes it.
    let body = format!(
        "{{ \"tenant\":\"{}\",\n  \"label\" : \"{label}\", \"amount\": 1.0, \"account\":{ACCOUNT}, \"pad\": \"{}\"}} ",
        who.tenant,
        "x".repeat(padding(rng)),
    );
    let script = json!({
        "label": label,
        "status": 201,
        "headers": [["Content-Type", "application/json"], ["X-Tenant", who.tenant]],
        "nonce": true,
        "body": body,
        "effects": 1,
        "sleep_ms": nap(rng),
        "sleep_at": if rng.bool() { "before" } else { "after" },
    });
    Variant {
        script,
        label,
        status: 201,
        body: Arc::from(body),
        effects: 1,
        is_atomic: true,
        has_effects_first: false,
        calls: 0,
        may_repeat_calls: false,
        messages: Vec::new(),
    }
}

/// Mostly short; some records are too long for one message.
fn padding(rng: &mut Rng) -> usize {
    match rng.u32(..20) {
        0 => rng.usize(20_000..40_000),
        1..4 => rng.usize(1_000..5_000),
        _ => rng.usize(..100),
    }
}

fn nap(rng: &mut Rng) -> u64 {
    match rng.u32(..10) {
        0 => rng.u64(200..800),
        1..6 => rng.u64(1..60),
        _ => 0,
    }
}

fn set(variant: &mut Variant, member: &str, value: Value) {
    variant.script[member] = value;
}

/// One in so many.
fn one_in(rng: &mut Rng, count: u32) -> bool {
    rng.u32(..count) == 0
}

/// Each process fails at it once.
fn failing_first(rng: &mut Rng, variant: &mut Variant) {
    let how = if rng.bool() { "err" } else { "panic" };
    set(variant, "fail", how.into());
    set(variant, "fails", 1.into());
}
