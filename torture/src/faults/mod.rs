//! Harm. A fault is one file and one line in [`ALL`]; each does one thing to the ground and says what it did. When
//! which one is due is the plan's business, and what nobody may notice the checker's.

mod clock;
mod cut_client;
mod cut_database;
mod cut_receiver;
mod delay;
mod expire_lease;
mod host_clock;
mod kill_app;
mod kill_database;
mod pause_app;
mod prune;
mod restart_database;
mod terminate_app;
mod upset_receiver;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::Outcome;
use crate::ground::Ground;
use crate::history::Injected;
use crate::plan::Harm;
use crate::proxy::Way;

pub(crate) const ALL: &[&Fault] = &[
    &kill_app::FAULT,
    &terminate_app::FAULT,
    &pause_app::FAULT,
    &kill_database::FAULT,
    &restart_database::FAULT,
    &cut_client::FAULT,
    &cut_database::FAULT,
    &cut_receiver::FAULT,
    &upset_receiver::FAULT,
    &delay::FAULT,
    &prune::FAULT,
    &expire_lease::FAULT,
    &clock::FAULT,
    &host_clock::FAULT,
];

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// How often it comes up, beside the others.
    pub(crate) weight: u32,
    /// There must be one to be harmed.
    pub(crate) needs_server: bool,
    /// Does it, and waits until it is over. In words what was done; `None` where it could not be, because what it
    /// harms is being harmed already.
    inject: for<'a> fn(&'a Ground, Rng) -> BoxFuture<'a, Outcome<Option<String>>>,
}

/// Does harm until then, and returns when all of it is over.
pub(crate) async fn harm(ground: Arc<Ground>, mut plan: Harm, end: Instant) {
    let mut under_way = JoinSet::new();
    let mut due = Instant::now();
    while let Some((pause, fault, rng)) = plan.next() {
        due += pause;
        if due >= end {
            break;
        }
        sleep_until(due).await;
        let ground = Arc::clone(&ground);
        under_way.spawn(async move {
            let started = ground.history.now();
            // A database that is down cannot be harmed in other ways: that is no error of the run.
            let what = (fault.inject)(&ground, rng).await.unwrap_or(None);
            ground.history.fault(Injected {
                fault: fault.name,
                started,
                ended: ground.history.now(),
                what,
            });
        });
        while under_way.try_join_next().is_some() {}
    }
    sleep_until(end).await;
    under_way.join_all().await;
}

/// From nothing to more than any message of ours.
fn bytes(rng: &mut Rng) -> usize {
    match rng.u32(..4) {
        0 => 0,
        1 => rng.usize(1..64),
        _ => rng.usize(64..3_000),
    }
}

fn way(rng: &mut Rng) -> Way {
    if rng.bool() { Way::Up } else { Way::Down }
}

fn milliseconds(rng: &mut Rng, least: u64, most: u64) -> Duration {
    Duration::from_millis(rng.u64(least..most))
}

fn done(what: impl Into<String>) -> Outcome<Option<String>> {
    Ok(Some(what.into()))
}
