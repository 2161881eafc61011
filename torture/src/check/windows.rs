//! Until when an answer is honoured, by the database's clock, which may have been set forward.

use super::Story;
use crate::history::{Attempt, Moment, Shift};

/// Whether the record behind the one may have expired by the end of the other.
pub(super) fn may_be_over(story: &Story<'_>, known: &Attempt, later: &Attempt) -> bool {
    is_over(story, recorded_after(story, known), later.ended)
}

/// Whether the record behind all the first ones may have expired before that behind all the others was made.
pub(super) fn may_follow(story: &Story<'_>, first: &[&Attempt], others: &[&Attempt]) -> bool {
    let recorded = first.iter().map(|known| recorded_after(story, known)).max();
    let asked = first.iter().map(|known| known.started).max();
    let made = others.iter().map(|other| other.ended).min();
    let (Some(recorded), Some(asked), Some(made)) = (recorded, asked, made) else {
        return true;
    };
    asked <= made && is_over(story, recorded, made)
}

/// It was recorded after it was asked for; a replay, even before.
fn recorded_after(story: &Story<'_>, known: &Attempt) -> Moment {
    if !is_replay(known) {
        return known.started;
    }
    let started = story.attempts.iter().map(|attempt| attempt.started);
    started.min().unwrap_or_default()
}

/// Whether what was recorded no earlier than that may have expired by then.
fn is_over(story: &Story<'_>, recorded: Moment, then: Moment) -> bool {
    latest(story.shifts, then) >= earliest(story.shifts, recorded) + story.operation.window
}

/// How many records there can have been one after the other.
pub(super) fn at_most(story: &Story<'_>) -> u64 {
    let started = story.attempts.iter().map(|attempt| attempt.started).min();
    let ended = story.attempts.iter().map(|attempt| attempt.ended).max();
    let (Some(started), Some(ended)) = (started, ended) else {
        return 1;
    };
    let time = latest(story.shifts, ended) - earliest(story.shifts, started);
    1 + time / story.operation.window
}

fn is_replay(attempt: &Attempt) -> bool {
    attempt.answer().is_some_and(|answer| answer.is_replay)
}

/// What the database's clock may have said at most.
fn latest(shifts: &[Shift], moment: Moment) -> Moment {
    let moved = shifts.iter().filter(|shift| shift.started <= moment);
    moment + moved.map(|shift| shift.by).sum::<u64>()
}

/// What it has said at least.
fn earliest(shifts: &[Shift], moment: Moment) -> Moment {
    let moved = shifts.iter().filter(|shift| shift.ended < moment);
    moment + moved.map(|shift| shift.by).sum::<u64>()
}
