//! Connections between clients and an application end: all of them, or one in the middle of a message.

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Fault, bytes, done, way};
use crate::Outcome;
use crate::ground::Ground;

pub(crate) struct CutClient;

impl Fault for CutClient {
    fn name(&self) -> &'static str {
        "cut client"
    }

    fn weight(&self) -> u32 {
        5
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
        .boxed()
    }
}
