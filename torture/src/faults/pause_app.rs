//! An application stands still for longer than a lease lasts, as a virtual machine that is moved, and then goes on as if
//! nothing had happened.

use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::sleep;

use super::{Fault, done, milliseconds};
use crate::Outcome;
use crate::ground::Ground;

pub(crate) struct PauseApp;

impl Fault for PauseApp {
    fn name(&self) -> &'static str {
        "pause app"
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
            let pause = milliseconds(&mut rng, 200, 3_500);
            app.signal("STOP").await;
            sleep(pause).await;
            app.signal("CONT").await;
            done(format!("app {} for {pause:?}", slot.number))
        }
        .boxed()
    }
}
