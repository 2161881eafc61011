//! An application deletes what has expired, beside those that its workers delete anyway.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;
use idem_tests::Request;
use tokio::time::timeout;

use super::{Fault, done};
use crate::Outcome;
use crate::ground::Ground;

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) const FAULT: Fault = Fault {
    name: "prune",
    weight: 2,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
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
