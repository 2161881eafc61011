//! Connections between an application and its database end: all of them, or one in the middle of a message, so that
//! nobody knows whether the other side has seen it.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, bytes, done, way};
use crate::Outcome;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "cut database",
    weight: 8,
    needs_server: true,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let Some(slot) = rng.choice(&ground.slots) else {
        return Ok(None);
    };
    let Some(back) = &slot.back else {
        return Ok(None);
    };
    if rng.u32(..4) == 0 {
        back.cut_all();
        return done(format!("all of app {}", slot.number));
    }
    let (way, after) = (way(&mut rng), bytes(&mut rng));
    back.cut_one(way, after);
    done(format!(
        "one of app {}, {way:?} after {after} bytes",
        slot.number
    ))
}
