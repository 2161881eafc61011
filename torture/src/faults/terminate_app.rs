//! SIGTERM to an application, as in a deployment: it may finish what it is at. It is started again.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Fault, done};
use crate::Outcome;
use crate::ground::Ground;

pub(crate) struct TerminateApp;

/// More than its shutdown timeout.
const PATIENCE: Duration = Duration::from_secs(8);

impl Fault for TerminateApp {
    fn name(&self) -> &'static str {
        "terminate app"
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
            let Some((slot, mut held)) = ground.some_app(&mut rng) else {
                return Ok(None);
            };
            let Some(app) = held.app() else {
                return Ok(None);
            };
            app.terminate().await;
            let end = match held.ended(PATIENCE).await {
                Ok(()) => "ended".to_owned(),
                Err(failure) => failure,
            };
            held.start().await?;
            done(format!("app {}: {end}", slot.number))
        }
        .boxed()
    }
}
