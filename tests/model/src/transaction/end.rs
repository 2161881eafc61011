//! The end of a run: record and COMMIT, or the record of a refusal by itself; and the pruner.

use super::acts::{leave, to};
use super::{Because, Done, Isolation, Phase, Row, State, Told, Transaction};
use crate::defects::Defect;

impl Transaction {
    /// `(DELETE expired ·) INSERT record` in the open transaction. The primary key judges.
    pub(super) fn record(&self, state: &mut State, who: usize) -> bool {
        if self.must_wait(state, who) {
            return false;
        }
        if self.is(Defect::RecordOutsideTransaction) {
            let effect = self.done(state, who);
            state.effects.push(effect);
            self.free_locks(state, who);
            return to(state, who, Phase::Alone);
        }
        let id = self.row(self.operation(who));
        let attempt = state.attempts[who];
        let there = state.rows.get(&id).copied();
        let is_moved = self.isolation == Isolation::RepeatableRead
            && attempt.over_expired
            && attempt.snapshot != Some(there);
        let in_the_way = there.filter(|row| !(attempt.over_expired && row.until <= state.clock));
        if is_moved || in_the_way.is_some() && self.has_key() {
            if self.is(Defect::CommitErrorIgnored) {
                let told = Told::Recorded {
                    by: who,
                    expired: false,
                };
                return leave(state, who, Because::Told(told));
            }
            return leave(state, who, Because::Again);
        }
        state.attempts[who].until = state.clock + self.retain;
        to(state, who, Phase::Inserted)
    }

    pub(super) fn commit_with(&self, state: &mut State, who: usize) -> bool {
        let until = state.attempts[who].until;
        let done = self.done(state, who);
        state.effects.push(done);
        self.write(state, who, until, true);
        self.free_locks(state, who);
        self.recorded(state, who)
    }

    pub(super) fn rollback_with(&self, state: &mut State, who: usize) -> bool {
        if !self.is(Defect::LocksOutliveTransaction) {
            self.free_locks(state, who);
        }
        to(state, who, Phase::Alone)
    }

    /// The removal of an expired row, if one was seen; then, as a step of its own, the INSERT.
    pub(super) fn remember(&self, state: &mut State, who: usize) -> bool {
        if self.must_wait(state, who) {
            return false;
        }
        let id = self.row(self.operation(who));
        if std::mem::take(&mut state.attempts[who].over_expired) {
            if state
                .rows
                .get(&id)
                .is_some_and(|row| row.until <= state.clock)
            {
                state.rows.remove(&id);
            }
            return true;
        }
        if state.rows.contains_key(&id) && !self.is(Defect::RefusalWithoutKey) {
            return leave(state, who, Because::Again);
        }
        let until = state.clock + self.retain;
        self.write(state, who, until, self.is(Defect::RecordOutsideTransaction));
        self.recorded(state, who)
    }

    /// Deletes what has expired and is not locked.
    pub(super) fn prune(&self, state: &mut State) -> bool {
        let locked: Vec<_> = (0..state.attempts.len())
            .filter(|&who| state.attempts[who].phase == Phase::Inserted)
            .map(|who| self.row(self.operation(who)))
            .collect();
        let before = state.rows.len();
        let clock = state.clock + u8::from(self.is(Defect::PrunerDeletesLive));
        state
            .rows
            .retain(|id, row| row.until > clock || locked.contains(id));
        state.rows.len() < before
    }

    /// A row that somebody has written and not committed.
    fn must_wait(&self, state: &State, who: usize) -> bool {
        let id = self.row(self.operation(who));
        let writes = |other: usize| {
            other != who
                && state.attempts[other].phase == Phase::Inserted
                && self.row(self.operation(other)) == id
        };
        self.has_key() && (0..state.attempts.len()).any(writes)
    }

    fn has_key(&self) -> bool {
        !self.is(Defect::NoLockNoKey) && !self.is(Defect::LookBeforeLock)
    }

    fn done(&self, state: &State, by: usize) -> Done {
        Done {
            operation: self.operation(by),
            by,
            at: state.clock,
        }
    }

    fn write(&self, state: &mut State, by: usize, until: u8, has_effect: bool) {
        let done = self.done(state, by);
        state.records.push((done, until, has_effect));
        let row = Row {
            operation: done.operation,
            by,
            until,
        };
        state.rows.insert(self.row(done.operation), row);
    }

    fn recorded(&self, state: &mut State, who: usize) -> bool {
        if !state.attempts[who].is_cut {
            let told = Told::Recorded {
                by: who,
                expired: false,
            };
            state.attempts[who].told = Some(told);
        }
        to(state, who, Phase::Over)
    }
}
