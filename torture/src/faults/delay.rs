//! Everything takes longer for a while: what clients send and get, what the application sends to its database and gets,
//! or the table itself, which somebody else has locked.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done, milliseconds};
use crate::Outcome;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "delay",
    weight: 3,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let Some(slot) = rng.choice(&ground.slots) else {
        return Ok(None);
    };
    let by = milliseconds(&mut rng, 5, 150);
    let during = milliseconds(&mut rng, 200, 1_500);
    match (rng.u32(..3), &slot.back) {
        (0, _) => {
            slot.front.slow_down(by, during);
            done(format!("clients of app {} by {by:?}", slot.number))
        }
        (1, Some(back)) => {
            back.slow_down(by, during);
            done(format!("database of app {} by {by:?}", slot.number))
        }
        _ => {
            if !ground.backend.be_busy(during).await? {
                return Ok(None);
            }
            done(format!("the database is busy for {during:?}"))
        }
    }
}
