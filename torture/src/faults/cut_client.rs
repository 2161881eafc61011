//! Connections between clients and an application end: all of them, or one in the middle of a message.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, bytes, done, way};
use crate::Outcome;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "cut client",
    weight: 5,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let Some(slot) = rng.choice(&ground.slots) else {
        return Ok(None);
    };
    if rng.u32(..3) == 0 {
        slot.front.cut_all();
        return done(format!("all of app {}", slot.number));
    }
    let (way, after) = (way(&mut rng), bytes(&mut rng));
    slot.front.cut_one(way, after);
    done(format!(
        "one of app {}, {way:?} after {after} bytes",
        slot.number
    ))
}
