//! An application stands still for longer than a lease lasts, as a virtual machine that is moved, and then goes on as if
//! nothing had happened.

use fastrand::Rng;
use futures_util::FutureExt;
use tokio::time::sleep;

use super::{Fault, done, milliseconds};
use crate::Outcome;
use crate::ground::Ground;

pub(super) const FAULT: Fault = Fault {
    name: "pause app",
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
    let pause = milliseconds(&mut rng, 200, 3_500);
    app.signal("STOP").await;
    sleep(pause).await;
    app.signal("CONT").await;
    done(format!("app {} for {pause:?}", slot.number))
}
