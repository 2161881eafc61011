//! Who gets the messages refuses some of them for a while, or takes them and does not say so.

use std::time::Duration;

use fastrand::Rng;
use futures_util::FutureExt;

use super::{Fault, done, milliseconds};
use crate::Outcome;
use crate::ground::Ground;
use crate::receiver::Mood;

pub(super) const FAULT: Fault = Fault {
    name: "upset receiver",
    weight: 6,
    needs_server: false,
    inject: |ground, rng| inject(ground, rng).boxed(),
};

const MOODS: [Mood; 6] = [
    Mood::Picky,
    Mood::Picky,
    Mood::Picky,
    Mood::Muddled,
    Mood::Silent,
    Mood::Rude,
];

async fn inject(ground: &Ground, mut rng: Rng) -> Outcome<Option<String>> {
    let mood = rng.choice(MOODS).unwrap_or_default();
    let during: Duration = milliseconds(&mut rng, 300, 3_000);
    ground.receiver.be(mood, during);
    done(format!("{mood:?} for {during:?}"))
}
