//! The database server is killed, or one of its children is, which makes it start over. It recovers from its log.

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done};
use crate::Outcome;
use crate::backends::Whom;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "kill database",
    weight: 1,
    is_possible_on_sqlite: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let (signal, whom) = match rng.u32(..3) {
        0 => ("KILL", Whom::Server),
        1 => ("QUIT", Whom::Server),
        _ => ("KILL", Whom::Child(rng.usize(..100))),
    };
    if !ground.backend.signal(signal, whom).await? {
        return Ok(None);
    }
    done(format!("{signal} to {whom:?}"))
}
