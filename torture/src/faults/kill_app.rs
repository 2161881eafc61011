//! SIGKILL to an application: at once, or at one of the next things that it does with its database. It is started again.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;
use idem_tests::Request;
use tokio::time::{sleep, timeout};

use super::{Fault, done, milliseconds};
use crate::Outcome;
use crate::ground::Ground;

const PATIENCE: Duration = Duration::from_millis(500);

pub(super) const FAULT: Fault = Fault {
    name: "kill app",
    weight: 4,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let Some((slot, mut held)) = ground.some_app(&mut rng) else {
        return Ok(None);
    };
    let mut how = "at once".to_owned();
    if rng.bool()
        && let Some(app) = held.app()
    {
        let event = rng.u32(1..60);
        let arm = Request::post(&format!("/arm?at={event}"));
        let armed = timeout(PATIENCE, app.try_send(&arm)).await;
        if matches!(armed, Ok(Ok(_))) {
            how = format!("at event {event}");
            sleep(PATIENCE).await;
        }
    }
    held.kill().await;
    sleep(milliseconds(&mut rng, 0, 300)).await;
    held.start().await?;
    done(format!("app {} {how}", slot.number))
}
