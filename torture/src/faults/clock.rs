//! The database's clock moves forward. It never moves back: then every lease would last longer by as much, and nothing
//! could be said of what is stuck. On SQLite it is that of the host which everybody is on. Where the database has one of
//! its own, those of the applications' hosts are `host_clock`'s.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done, milliseconds};
use crate::Outcome;
use crate::ground::Ground;
use crate::history::{Moment, Shift};

const ATTEMPTS: u32 = 5;

pub(super) const FAULT: Fault = Fault {
    name: "clock",
    weight: 1,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let by = milliseconds(&mut rng, 500, 20_000);
    let _only = ground.clock.lock().await;
    // Noted whether or not it is known to have happened: the next move includes it.
    let started = ground.history.now();
    let before: u64 = ground
        .history
        .record_of_shifts()
        .iter()
        .map(|one| one.by)
        .sum();
    let total = Duration::from_micros(before) + by;
    let mut moved = Err("not tried".into());
    for _ in 0..ATTEMPTS {
        moved = ground.backend.set_clock_forward(total).await;
        if moved.is_ok() {
            break;
        }
        let _ = ground.backend.is_up().await;
    }
    if matches!(moved, Ok(false)) {
        return Ok(None);
    }
    // Where nobody knows whether it has moved, it may have at any time from now on.
    let ended = if moved.is_ok() {
        ground.history.now()
    } else {
        Moment::MAX
    };
    ground.history.shift(Shift {
        started,
        ended,
        by: u64::try_from(by.as_micros())?,
    });
    moved?;
    done(format!("by {by:?}"))
}
