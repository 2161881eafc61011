//! What must hold in every state.

use stateright::{Model, Property};

use super::store::bit;
use super::{Act, Fate, Held, Outbox, Phase, Relay, Row, Run, Running, State, Step};

/// The broker never sees a message of an operation, or of a step, that has not committed.
pub const NONE_WITHOUT_COMMIT: &str = "no message without its commit";
/// What is marked as sent has arrived.
pub const SENT_HAS_ARRIVED: &str = "what is sent has arrived";
/// A committed message is in the table until the pruner deletes it.
pub const NONE_LOST: &str = "no message lost";
/// The pruner deletes only what has arrived.
pub const NONE_PRUNED_UNSENT: &str = "nothing pruned that was not sent";
/// Every behaviour ends, and where it does, every committed message has arrived or is dead.
pub const NONE_WAITS_FOR_EVER: &str = "no message waits for ever";
/// Every run gives a message the same id, and so it is sent each time.
pub const ONE_ID: &str = "one message, one id";
/// No two messages in the table have the same id.
pub const OWN_IDS: &str = "two messages, two ids";
/// No message arrives for the first time before one of its order that has committed before, unless one of the two was dead.
pub const IN_ORDER: &str = "first deliveries follow the commits";
/// No two relays whose claims have not run out are about to publish messages of one order, or the same one.
pub const ONE_HOLDER: &str = "one order, one relay";
/// A relay that has lost a message writes nothing about it.
pub const LATE_MARKS_NOTHING: &str = "a late relay marks nothing";

/// What must be possible: a model in which nothing happens keeps every promise.
pub const SEEN: &[&str] = &[
    ARRIVED,
    AGAIN,
    TAKEN_OVER,
    DEAD,
    REQUEUED,
    LATE,
    ROLLED_BACK,
    SKIPPED,
    WAITED,
    PRUNED,
];

/// All that is queued arrives.
pub const ARRIVED: &str = "all has arrived";
/// A relay is about to publish what has arrived.
pub const AGAIN: &str = "published again";
/// Two relays have the same message in hand.
pub const TAKEN_OVER: &str = "taken over while its owner lives";
/// A message is given up.
pub const DEAD: &str = "dead";
/// A message that was dead arrives.
pub const REQUEUED: &str = "requeued, and sent";
/// A relay is about to mark a message that is another's.
pub const LATE: &str = "a late relay is about to mark";
/// A run is made again.
pub const ROLLED_BACK: &str = "rolled back, and run again";
/// A run of an operation with steps goes on behind those that are finished.
pub const SKIPPED: &str = "a finished step is skipped";
/// A transaction waits for the lock of an order.
pub const WAITED: &str = "an order is waited for";
/// A sent message is deleted.
pub const PRUNED: &str = "pruned";

pub(super) fn all() -> Vec<Property<Outbox>> {
    let mut all = always();
    all.extend(sometimes());
    all
}

fn always() -> Vec<Property<Outbox>> {
    vec![
        Property::always(NONE_WITHOUT_COMMIT, |_, state: &State| {
            !state.wrongs.uncommitted
        }),
        Property::always(SENT_HAS_ARRIVED, |_, state: &State| {
            let sent = state.rows.iter().filter(|row| row.fate == Fate::Sent);
            sent.fold(0, |all, row| all | bit(row.message)) & !state.arrived == 0
        }),
        Property::always(NONE_LOST, |_, state: &State| {
            let there = state.rows.iter().fold(0, |all, row| all | bit(row.message));
            let is_there = |message: &u8| (there | state.pruned) & bit(*message) != 0;
            state.committed.iter().all(is_there)
        }),
        Property::always(NONE_PRUNED_UNSENT, |_, state: &State| {
            state.pruned & !state.arrived == 0
        }),
        Property::always(NONE_WAITS_FOR_EVER, waits_not_for_ever),
        Property::always(ONE_ID, |_, state: &State| !state.wrongs.another_id),
        Property::always(OWN_IDS, |_, state: &State| !state.wrongs.id_twice),
        Property::always(IN_ORDER, |_, state: &State| !state.wrongs.overtaken),
        Property::always(ONE_HOLDER, one_holder),
        Property::always(LATE_MARKS_NOTHING, |_, state: &State| {
            !state.wrongs.late_mark
        }),
    ]
}

fn sometimes() -> Vec<Property<Outbox>> {
    vec![
        Property::sometimes(ARRIVED, |_, state: &State| {
            state.arrived.count_ones() as usize == state.ids.len()
        }),
        Property::sometimes(AGAIN, |_, state: &State| {
            let mut held = state.relays.iter().flat_map(|relay| &relay.hand);
            held.any(|held| state.arrived & bit(held.message) != 0)
        }),
        Property::sometimes(TAKEN_OVER, |model: &Outbox, state: &State| {
            shares(state, |one, other| {
                model.are_one(one, other) && one.message == other.message
            })
        }),
        Property::sometimes(DEAD, |_, state: &State| {
            state.rows.iter().any(|row| row.fate == Fate::Dead)
        }),
        Property::sometimes(REQUEUED, |_, state: &State| {
            let is_back =
                |row: &Row| row.fate == Fate::Sent && state.given_up & bit(row.message) != 0;
            state.rows.iter().any(is_back)
        }),
        Property::sometimes(LATE, |_, state: &State| {
            state.relays.iter().any(|relay| {
                relay.told.iter().any(|(position, _)| {
                    let row = state.row(*position);
                    row.is_none_or(|row| row.owner != Some(relay.token))
                })
            })
        }),
        Property::sometimes(ROLLED_BACK, |model: &Outbox, state: &State| {
            let is_again = |run: &Run| run.left < model.runs && run.running == Running::Open;
            state.runs.iter().any(is_again)
        }),
        Property::sometimes(SKIPPED, |model: &Outbox, state: &State| {
            let is_behind =
                |run: &Run| run.left < model.runs && run.done > 0 && !run.queued.is_empty();
            state.runs.iter().any(is_behind)
        }),
        Property::sometimes(WAITED, |model: &Outbox, state: &State| {
            let first = |who: usize| model.number(who, 0);
            let waits = |who: usize| {
                state.runs[who].running == Running::Idle
                    && state.runs[who].done == 0
                    && model.is_locked(state, first(who), Some(who))
            };
            (0..state.runs.len()).any(waits)
        }),
        Property::sometimes(PRUNED, |_, state: &State| state.pruned != 0),
    ]
}

/// Every path of the model ends: runs, attempts and budgets are bounded, and a relay looks only where something is due.
/// So that everything comes to an end is that it has come there where nothing can happen any more.
fn waits_not_for_ever(model: &Outbox, state: &State) -> bool {
    let is_idle = |step: &Step| {
        use Act::{Crash, Cut, Prune, Requeue};
        matches!(step.act, Crash | Cut | Prune | Requeue)
    };
    let is_done = state.rows.iter().all(|row| row.fate != Fate::Waits);
    is_done
        || model
            .next_steps(state)
            .iter()
            .any(|(step, _)| !is_idle(step))
}

fn one_holder(model: &Outbox, state: &State) -> bool {
    let in_time = |relay: &Relay| relay.phase == Phase::Working && !relay.is_late;
    let relays: Vec<_> = state.relays.iter().filter(|one| in_time(one)).collect();
    !pairs(&relays, |one, other| model.are_one(one, other))
}

fn shares(state: &State, are_one: impl Fn(&Held, &Held) -> bool) -> bool {
    pairs(&state.relays.iter().collect::<Vec<_>>(), are_one)
}

/// Whether two relays have such messages in hand.
fn pairs(relays: &[&Relay], are_one: impl Fn(&Held, &Held) -> bool) -> bool {
    relays.iter().enumerate().any(|(place, relay)| {
        let others = relays[place + 1..].iter().flat_map(|other| &other.hand);
        let mut others = others.into_iter();
        others.any(|other| relay.hand.iter().any(|one| are_one(one, other)))
    })
}

impl Outbox {
    /// Whether they are of one order, or the same message.
    fn are_one(&self, one: &Held, other: &Held) -> bool {
        let order = self.order(one.message);
        one.message == other.message || order.is_some() && order == self.order(other.message)
    }
}
