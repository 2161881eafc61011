//! Operations: queueing in the open transaction, and its end.

use super::store::bit;
use super::{Fate, Outbox, Queued, Row, Running, State};
use crate::defects::Defect;

/// Ids that are derived from nothing.
const RANDOM: u8 = 100;

impl Outbox {
    /// Lock and INSERT. Each is the first thing that the other side sees of this message.
    pub(super) fn enqueue(&self, state: &mut State, who: usize) -> bool {
        let operation = &self.operations[who];
        let run = &state.runs[who];
        let place = match operation.has_steps {
            true => usize::from(run.done) + run.queued.len(),
            false => run.queued.len(),
        };
        let is_complete = operation.has_steps && !run.queued.is_empty();
        if is_complete || place >= operation.messages.len() || !self.may_begin(state, who) {
            return false;
        }
        let message = self.number(who, place);
        if !self.is(Defect::NoOrderLock) && self.is_locked(state, message, Some(who)) {
            return false;
        }
        let number = match self.is(Defect::PlaceInTheRun) {
            true => run.count,
            false => u8::try_from(place).unwrap_or(u8::MAX),
        };
        let derived = operation.key * 10 + number;
        let is_there = state.rows.iter().any(|row| row.id == derived);
        let id = match is_there && !self.is(Defect::IdNotUnique) {
            true => RANDOM + message,
            false => derived,
        };
        if id == derived {
            self.has_id(state, message, id);
        }
        let is_dropped = id != derived && self.is(Defect::ConflictTakenForDone);
        let mut queued = Queued {
            position: (!is_dropped).then(|| state.next_position()),
            message,
            id,
        };
        if self.is(Defect::QueuedByItself) {
            self.insert(state, queued);
            queued.position = None;
        }
        let run = &mut state.runs[who];
        run.queued.push(queued);
        run.count += 1;
        run.running = Running::Open;
        true
    }

    /// A key is free when the operations that had it before are over, and their records have expired.
    fn may_begin(&self, state: &State, who: usize) -> bool {
        let has_key = |&before: &usize| self.operations[before].key == self.operations[who].key;
        let is_over = |before: usize| state.runs[before].running == Running::Over;
        (0..who).filter(has_key).all(is_over)
    }

    /// Whether somebody's transaction has the lock of the order of this message.
    pub(super) fn is_locked(&self, state: &State, message: u8, except: Option<usize>) -> bool {
        let order = self.order(message);
        let has_it = |(who, run): (usize, &super::Run)| {
            let is_in_order = |queued: &Queued| self.order(queued.message) == order;
            Some(who) != except && run.queued.iter().any(is_in_order)
        };
        order.is_some() && state.runs.iter().enumerate().any(has_it)
    }

    fn is_full(&self, state: &State, who: usize) -> bool {
        let all = match self.operations[who].has_steps {
            true => 1,
            false => self.operations[who].messages.len(),
        };
        state.runs[who].queued.len() == all
    }

    pub(super) fn commit(&self, state: &mut State, who: usize) -> bool {
        if !self.is_full(state, who) {
            return false;
        }
        let queued = std::mem::take(&mut state.runs[who].queued);
        for queued in queued {
            state.committed.push(queued.message);
            if queued.position.is_some() {
                self.insert(state, queued);
            }
            state.runs[who].done += 1;
        }
        let is_over = usize::from(state.runs[who].done) == self.operations[who].messages.len();
        state.runs[who].running = match is_over {
            true => Running::Over,
            false => Running::Idle,
        };
        true
    }

    /// It is visible.
    fn insert(&self, state: &mut State, queued: Queued) {
        let Queued {
            position: Some(position),
            message,
            id,
        } = queued
        else {
            return;
        };
        state.wrongs.id_twice |= state.rows.iter().any(|row| row.id == id);
        state.rows.push(Row {
            position,
            message,
            id,
            fate: Fate::Waits,
            is_due: !self.said(message).is_delayed,
            owner: None,
            attempts: 0,
        });
        state.rows.sort_unstable_by_key(|row| row.position);
    }

    /// In all runs, and whenever it is sent.
    pub(super) fn has_id(&self, state: &mut State, message: u8, id: u8) {
        let first = state.ids[usize::from(message)].get_or_insert(id);
        state.wrongs.another_id |= *first != id;
    }

    pub(super) fn handler_fails(&self, state: &mut State, who: usize) -> bool {
        if state.left.mishaps == 0 || state.runs[who].count == 0 {
            return false;
        }
        state.left.mishaps -= 1;
        end_run(state, who);
        true
    }

    pub(super) fn handler_dies(&self, state: &mut State, who: usize) -> bool {
        if state.left.faults == 0 || !self.is_full(state, who) {
            return false;
        }
        state.left.faults -= 1;
        state.runs[who].running = Running::Left;
        true
    }

    pub(super) fn commit_lands(&self, state: &mut State, who: usize) -> bool {
        self.commit(state, who);
        if state.runs[who].running != Running::Over {
            end_run(state, who);
        }
        true
    }

    pub(super) fn commit_is_dropped(&self, state: &mut State, who: usize) -> bool {
        end_run(state, who);
        true
    }

    /// Whether the broker may have it.
    pub(super) fn is_committed(&self, state: &State, message: u8) -> bool {
        state.committed.contains(&message)
    }

    /// Those before it in its order that have neither arrived nor were ever dead.
    pub(super) fn overtakes(&self, state: &State, message: u8) -> bool {
        let order = self.order(message);
        let exempt = state.arrived | state.given_up;
        let before = state.committed.iter().take_while(|one| **one != message);
        let mut missing =
            before.filter(|one| self.order(**one) == order && exempt & bit(**one) == 0);
        order.is_some() && state.given_up & bit(message) == 0 && missing.next().is_some()
    }
}

/// A retry runs it again, or nobody does.
fn end_run(state: &mut State, who: usize) {
    let run = &mut state.runs[who];
    run.queued.clear();
    run.count = 0;
    run.left -= 1;
    run.running = match run.left {
        0 => Running::Over,
        _ => Running::Idle,
    };
}
