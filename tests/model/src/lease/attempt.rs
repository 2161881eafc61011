//! One run of the handler under its lease, and the end of it.

use super::store::token;
use super::{Attempt, CHARGE, Lease, ORDER, Phase, Rule, State, Told};
use crate::defects::Defect;

pub(super) fn to(state: &mut State, who: usize, phase: Phase) -> bool {
    state.attempts[who].phase = phase;
    true
}

pub(super) fn over(state: &mut State, who: usize, told: Told) -> bool {
    let attempt = &mut state.attempts[who];
    // Nothing of it matters any more.
    *attempt = Attempt {
        is_dead: attempt.is_dead,
        has_ended: attempt.has_ended,
        told: Some(told),
        ..Attempt::NEW
    };
    to(state, who, Phase::Over)
}

impl Lease {
    /// The outside world knows the key: it does its work once, and answers the same.
    pub(super) fn call(&self, state: &mut State, who: usize) -> bool {
        let (print, clock) = (self.print(who), state.clock);
        state.calls += 1;
        state.attempts[who].has_called = true;
        state.wrongs.two_bodies |= *state.charged.get_or_insert(print) != print;
        let is_trusted = state.held_by(who).is_some_and(|row| row.lease > clock);
        state.live_calls += u8::from(is_trusted);
        to(state, who, Phase::FinishStep)
    }

    pub(super) fn finish_step(&self, state: &mut State, who: usize) -> bool {
        if state.row_lock.is_some() {
            return false;
        }
        if !self.write_step(state, who) {
            return to(state, who, Phase::Lost);
        }
        state.attempts[who].known |= CHARGE;
        to(state, who, Phase::Order)
    }

    pub(super) fn transaction(&self, state: &mut State, who: usize) -> bool {
        to(state, who, Phase::CommitStep)
    }

    /// Locks the row until the end of the transaction.
    pub(super) fn commit_step(&self, state: &mut State, who: usize) -> bool {
        if state.row_lock.is_some() {
            return false;
        }
        let is_unfenced = self.is(Defect::FenceSkippedOnStep) && state.row.is_some();
        if state.held_by(who).is_none() && !is_unfenced {
            return to(state, who, Phase::Lost);
        }
        state.row_lock = Some(who);
        state.attempts[who].lease = state.clock + self.length;
        to(state, who, Phase::Commit)
    }

    pub(super) fn commit(&self, state: &mut State, who: usize) -> bool {
        self.write_work(state, who);
        state.attempts[who].known |= ORDER;
        to(state, who, Phase::Record)
    }

    pub(super) fn is_finished(&self, state: &mut State, who: usize) -> bool {
        let is_finished = state.held_by(who).is_some_and(|row| row.steps & ORDER != 0);
        match is_finished || self.is(Defect::DoubtTakenForDone) {
            true => to(state, who, Phase::Record),
            false => to(state, who, Phase::End),
        }
    }

    pub(super) fn record(&self, state: &mut State, who: usize) -> bool {
        if state.row_lock.is_some() {
            return false;
        }
        match self.write_record(state, who) {
            true => over(state, who, Told::Recorded(state.records.len() - 1)),
            false => to(state, who, Phase::IsRecordedBy),
        }
    }

    /// Whoever finds its own token in a record sends its own answer.
    pub(super) fn is_recorded_by(&self, state: &mut State, who: usize) -> bool {
        let own = state.row.filter(|row| row.owner == Some(token(who)));
        match own.and_then(|row| row.record) {
            Some(record) if state.records[record].is_verdict => {
                // It is not that of the record.
                over(state, who, Told::Recorded(usize::MAX))
            }
            Some(record) => over(state, who, Told::Recorded(record)),
            None => to(state, who, Phase::Lost),
        }
    }

    pub(super) fn handler_refuses(&self, state: &mut State, who: usize) -> bool {
        self.mishap(state)
            && match self.is_untouched(state, who) {
                true => to(state, who, Phase::Forget(Told::Refused)),
                false => to(state, who, Phase::GiveBack),
            }
    }

    pub(super) fn handler_fails(&self, state: &mut State, who: usize) -> bool {
        self.mishap(state)
            && match self.rule == Rule::Rerun && self.is_untouched(state, who) {
                true => to(state, who, Phase::Forget(Told::Failed)),
                false => to(state, who, Phase::End),
            }
    }

    fn mishap(&self, state: &mut State) -> bool {
        let may = state.mishaps > 0;
        state.mishaps -= u8::from(may);
        may
    }

    fn is_untouched(&self, state: &State, who: usize) -> bool {
        let attempt = state.attempts[who];
        let has_called = attempt.has_called && !self.is(Defect::ForgottenThoughCalled);
        attempt.is_new && !has_called && attempt.known == 0
    }

    pub(super) fn forget(&self, state: &mut State, who: usize) -> bool {
        let Phase::Forget(told) = state.attempts[who].phase else {
            return false;
        };
        if state.row_lock.is_some() {
            return false;
        }
        match (self.delete_claim(state, who), told) {
            (true, _) => over(state, who, told),
            (false, Told::Refused) => to(state, who, Phase::GiveBack),
            (false, _) => to(state, who, Phase::End),
        }
    }

    pub(super) fn give_back(&self, state: &mut State, who: usize) -> bool {
        if state.row_lock.is_some() {
            return false;
        }
        match self.write_end(state, who, true) {
            true => over(state, who, Told::Refused),
            false => to(state, who, Phase::Lost),
        }
    }

    pub(super) fn end(&self, state: &mut State, who: usize) -> bool {
        if state.row_lock.is_some() {
            return false;
        }
        match self.write_end(state, who, false) {
            true => over(state, who, Told::Failed),
            false => to(state, who, Phase::Lost),
        }
    }

    pub(super) fn lost(&self, state: &mut State, who: usize) -> bool {
        let told = match (state.recorded(), state.pending()) {
            (Some(found), _) => self.answer_from(who, found),
            (None, Some(row)) if row.lease <= state.clock => Told::Unresolved,
            _ => Told::InFlight,
        };
        over(state, who, told)
    }
}
