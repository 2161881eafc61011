//! Connections between an application and its database end: all of them, or one in the middle of a message, so that
//! nobody knows whether the other side has seen it.

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Fault, bytes, done, way};
use crate::Outcome;
use crate::ground::Ground;

pub(crate) struct CutDatabase;

impl Fault for CutDatabase {
    fn name(&self) -> &'static str {
        "cut database"
    }

    fn weight(&self) -> u32 {
        8
    }

    fn is_possible_on_sqlite(&self) -> bool {
        false
    }

    fn inject<'a>(
        &'a self,
        ground: &'a Ground,
        mut rng: Rng,
    ) -> BoxFuture<'a, Outcome<Option<String>>> {
        async move {
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
        .boxed()
    }
}
