//! The clock of an application's host is wrong, in either direction, or right again. Only where the database has a
//! clock of its own: that one counts, and so nothing may change. Where it has none, the host's is what `clock` moves.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done};
use crate::Outcome;
use crate::ground::Ground;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

pub(super) const FAULT: Fault = Fault {
    name: "host clock",
    weight: 4,
    needs_server: true,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let Some(slot) = rng.choice(&ground.slots) else {
        return Ok(None);
    };
    let Some(clock) = &slot.clock else {
        return Ok(None);
    };
    let offset = match rng.u32(..4) {
        0 => 0,
        1 => rng.i64(-30 * SECOND..=30 * SECOND),
        2 => rng.i64(-10 * MINUTE..=10 * MINUTE),
        _ => rng.i64(-120 * MINUTE..=120 * MINUTE),
    };
    clock.set(offset)?;
    done(format!("that of app {} is {offset} ms off", slot.number))
}
