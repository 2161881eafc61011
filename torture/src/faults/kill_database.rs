//! The database server is killed, or fails, and recovers from its log; or one of its sessions is killed, which makes
//! PostgreSQL start over.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done};
use crate::Outcome;
use crate::backends::End;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "kill database",
    weight: 1,
    needs_server: true,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let end = match rng.u32(..3) {
        0 => End::Killed,
        1 => End::Crashed,
        _ => End::Session(rng.usize(..100)),
    };
    if !ground.backend.end(end).await? {
        return Ok(None);
    }
    done(format!("{end:?}"))
}
