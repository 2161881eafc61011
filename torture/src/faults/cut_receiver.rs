//! Connections between an application's relay and who gets its messages end, or become slow: all of them, or one in the
//! middle of a message, so that nobody knows whether the other side has it.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, bytes, done, milliseconds, way};
use crate::Outcome;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "cut receiver",
    weight: 5,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let Some(slot) = rng.choice(&ground.slots) else {
        return Ok(None);
    };
    match rng.u32(..4) {
        0 => {
            slot.out.cut_all();
            done(format!("all of app {}", slot.number))
        }
        1 => {
            let by = milliseconds(&mut rng, 5, 150);
            let during = milliseconds(&mut rng, 200, 1_500);
            slot.out.slow_down(by, during);
            done(format!("those of app {} are slow by {by:?}", slot.number))
        }
        _ => {
            let (way, after) = (way(&mut rng), bytes(&mut rng));
            slot.out.cut_one(way, after);
            done(format!(
                "one of app {}, {way:?} after {after} bytes",
                slot.number
            ))
        }
    }
}
