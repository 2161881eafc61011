//! SIGTERM to an application, as in a deployment: it may finish what it is at. It is started again.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done};
use crate::Outcome;
use crate::ground::Ground;

/// More than its shutdown timeout.
const PATIENCE: Duration = Duration::from_secs(8);

pub(super) const FAULT: Fault = Fault {
    name: "terminate app",
    weight: 2,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
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
