//! The statements that prove their owner, as the database executes them, whoever waits for the answer.

use super::{CHARGE, Lease, ORDER, Record, Row, Rule, State, Told};
use crate::defects::Defect;

impl State {
    /// `WHERE owner = … AND status IS NULL`.
    pub(super) fn held_by(&mut self, who: usize) -> Option<&mut Row> {
        self.row
            .as_mut()
            .filter(|row| row.owner == Some(token(who)) && row.record.is_none())
    }

    pub(super) fn pending(&self) -> Option<&Row> {
        self.row.as_ref().filter(|row| row.record.is_none())
    }

    /// The record that is honoured now.
    pub(super) fn recorded(&self) -> Option<(usize, &Record)> {
        let record = self.row?.record?;
        let found = &self.records[record];
        (found.until > self.clock).then_some((record, found))
    }

    /// A token that nobody has.
    pub(super) fn another_owner(&mut self) -> Option<u8> {
        self.tokens += 1;
        Some(self.tokens)
    }
}

/// The token of an attempt's run: it has one at most.
pub(super) fn token(who: usize) -> u8 {
    u8::try_from(who).unwrap_or(u8::MAX)
}

impl Row {
    pub(super) fn trust(&mut self, until: u8) {
        self.lease = until;
        self.stamp += 1;
    }
}

impl Lease {
    /// The primary key judges. Nothing of the transaction is left after that.
    pub(super) fn write_pending(&self, state: &mut State, who: usize) -> bool {
        state.lock = None;
        let is_in_the_way = state.pending().is_some() || state.recorded().is_some();
        if !is_in_the_way {
            state.is_expected = true;
            state.row = Some(Row {
                print: self.print(who),
                owner: Some(token(who)),
                rule: self.rule,
                lease: state.clock + self.length,
                stamp: 0,
                steps: 0,
                record: None,
            });
        }
        !is_in_the_way
    }

    pub(super) fn write_step(&self, state: &mut State, who: usize) -> bool {
        let until = state.clock + self.length;
        let row = match self.is(Defect::FenceSkippedOnStep) {
            true => state.row.as_mut(),
            false => state.held_by(who),
        };
        row.map(|row| {
            row.steps |= CHARGE;
            row.trust(until);
        })
        .is_some()
    }

    /// The row of a step's transaction becomes visible with its work.
    pub(super) fn write_work(&self, state: &mut State, who: usize) {
        state.row_lock = None;
        state.orders += 1;
        let lease = state.attempts[who].lease;
        if let Some(row) = &mut state.row {
            row.steps |= ORDER;
            row.trust(lease);
        }
    }

    pub(super) fn write_record(&self, state: &mut State, who: usize) -> bool {
        let is_ours = self.is(Defect::FenceSkippedOnRecord) || state.held_by(who).is_some();
        let print = self.print(who);
        is_ours && self.write_response(state, print, false)
    }

    pub(super) fn write_response(&self, state: &mut State, of: u8, is_verdict: bool) -> bool {
        let Some(row) = &mut state.row else {
            return false;
        };
        row.record = Some(state.records.len());
        if is_verdict && !self.is(Defect::SettledKeepsOwner) {
            row.owner = None;
        }
        state.records.push(Record {
            print: row.print,
            of,
            is_verdict,
            at: state.clock,
            until: state.clock + self.retain,
        });
        true
    }

    pub(super) fn delete_claim(&self, state: &mut State, who: usize) -> bool {
        let is_bare = state.held_by(who).is_some_and(|row| row.steps == 0);
        if is_bare {
            state.row = None;
            state.is_expected = false;
        }
        is_bare
    }

    pub(super) fn write_end(&self, state: &mut State, who: usize, is_released: bool) -> bool {
        let now = state.clock;
        if state.held_by(who).is_none() {
            return false;
        }
        let another = match self.is(Defect::EndedKeepsOwner) {
            true => Some(token(who)),
            false => state.another_owner(),
        };
        state.words += u8::from(is_released);
        if let Some(row) = &mut state.row {
            row.trust(now);
            row.owner = another;
            if is_released {
                row.rule = Rule::Released;
            }
        }
        state.attempts[who].has_ended = true;
        true
    }

    pub(super) fn renew(&self, state: &mut State, who: usize) -> bool {
        let attempt = state.attempts[who];
        let may = attempt.is_active() || attempt.has_ended;
        let until = state.clock + self.length;
        if attempt.is_dead || !may || state.row_lock.is_some() {
            return false;
        }
        // Nothing changes where it is trusted as long already.
        match state.held_by(who) {
            Some(row) if row.lease < until => {
                row.trust(until);
                true
            }
            _ => false,
        }
    }

    /// Deletes what has expired.
    pub(super) fn prune(&self, state: &mut State) -> bool {
        let Some(row) = state.row else {
            return false;
        };
        let is_stale = row.record.is_none() && row.lease <= state.clock;
        if self.is(Defect::PrunerDeletesPending) && is_stale && state.row_lock.is_none() {
            state.row = None;
            return true;
        }
        let may = row.record.is_some() && state.recorded().is_none();
        if may {
            state.row = None;
            state.is_expected = false;
        }
        may
    }

    /// What a record answers.
    pub(super) fn answer_from(&self, who: usize, (record, found): (usize, &Record)) -> Told {
        match found.print == self.print(who) {
            true => Told::Recorded(record),
            false => Told::Mismatch,
        }
    }
}
