//! An application deletes what has expired, beside those that its workers delete anyway.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use idem_tests::Request;
use tokio::time::timeout;

use super::{Fault, done};
use crate::Outcome;
use crate::ground::Ground;

pub(crate) struct Prune;

const PATIENCE: Duration = Duration::from_secs(10);

impl Fault for Prune {
    fn name(&self) -> &'static str {
        "prune"
    }

    fn weight(&self) -> u32 {
        2
    }

    fn inject<'a>(
        &'a self,
        ground: &'a Ground,
        mut rng: Rng,
    ) -> BoxFuture<'a, Outcome<Option<String>>> {
        async move {
            let Some((slot, held)) = ground.some_app(&mut rng) else {
                return Ok(None);
            };
            let Some(app) = held.app() else {
                return Ok(None);
            };
            let request = Request::post("/prune");
            let answer = timeout(PATIENCE, app.try_send(&request)).await??;
            if answer.status != 200 {
                return Ok(None);
            }
            done(format!("{} by app {}", answer.text(), slot.number))
        }
        .boxed()
    }
}
