//! The database server is killed, or one of its children is, which makes it start over. It recovers from its log.

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Fault, done};
use crate::Outcome;
use crate::backends::Whom;
use crate::ground::Ground;

pub(crate) struct KillDatabase;

impl Fault for KillDatabase {
    fn name(&self) -> &'static str {
        "kill database"
    }

    fn weight(&self) -> u32 {
        1
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
        .boxed()
    }
}
