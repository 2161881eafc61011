//! From a request to a claim that is committed and its own.

use super::attempt::{over, to};
use super::store::token;
use super::{CHARGE, Lease, ORDER, Phase, Rule, State, Told};
use crate::defects::Defect;

/// How often somebody else may get in between.
const LOSSES: u8 = 2;

impl Lease {
    pub(super) fn claim(&self, state: &mut State, who: usize) -> bool {
        if let Some(found) = state.recorded() {
            let told = self.answer_from(who, found);
            return over(state, who, told);
        }
        if let Some(row) = state.pending() {
            return match row.print == self.print(who) {
                true => to(state, who, Phase::State),
                false => over(state, who, Told::Mismatch),
            };
        }
        match state.lock {
            None => {
                state.lock = Some(who);
                to(state, who, Phase::Pend)
            }
            Some(other) if self.print(other) == self.print(who) => over(state, who, Told::InFlight),
            Some(_) => over(state, who, Told::Mismatch),
        }
    }

    pub(super) fn pend(&self, state: &mut State, who: usize) -> bool {
        match self.write_pending(state, who) {
            true => self.hold(state, who, None),
            false => taken(state, who),
        }
    }

    pub(super) fn is_ours(&self, state: &mut State, who: usize) -> bool {
        match state.held_by(who) {
            Some(_) => self.hold(state, who, None),
            None => over(state, who, Told::Unavailable),
        }
    }

    pub(super) fn state(&self, state: &mut State, who: usize) -> bool {
        let Some(&row) = state.pending() else {
            return to(state, who, Phase::Idle);
        };
        if row.print != self.print(who) && !self.flaws.state_without_print {
            return over(state, who, Told::Mismatch);
        }
        if row.lease > state.clock {
            return over(state, who, Told::InFlight);
        }
        let may_rerun = match row.rule {
            Rule::Released => !self.is(Defect::ReleasedIsNobodys),
            Rule::Rerun => self.rule == Rule::Rerun,
            Rule::Hold => self.is(Defect::StaleTakenForFree),
        };
        match may_rerun {
            true => to(state, who, Phase::TakeOver(row.owner, row.steps)),
            false => over(state, who, Told::Unresolved),
        }
    }

    /// One statement: what it takes is what was seen, and what it returns is what was there.
    pub(super) fn take_over(&self, state: &mut State, who: usize) -> bool {
        let Phase::TakeOver(owner, seen) = state.attempts[who].phase else {
            return false;
        };
        let (clock, is_unseen) = (state.clock, self.is(Defect::TakenUnseen));
        let Some(&row) = state.pending() else {
            return taken(state, who);
        };
        let is_as_seen = row.owner == owner && row.lease <= clock;
        if state.row_lock.is_some() || !(is_as_seen || is_unseen) {
            return taken(state, who);
        }
        state.wrongs.live_claim_taken |= row.lease > clock;
        if let Some(row) = &mut state.row {
            row.owner = Some(token(who));
            row.trust(clock + self.length);
            if !self.is(Defect::ReleasedSticks) {
                row.rule = self.rule;
            }
        }
        let steps = match self.is(Defect::StepsReadBeforeTaking) {
            true => seen,
            false => row.steps,
        };
        self.hold(state, who, Some(steps))
    }

    /// The handler begins, behind the steps that are finished.
    fn hold(&self, state: &mut State, who: usize, taken_over: Option<u8>) -> bool {
        let known = taken_over.unwrap_or_default();
        state.attempts[who].known = known;
        state.attempts[who].is_new = taken_over.is_none();
        let phase = match known {
            known if known & ORDER != 0 => Phase::Record,
            known if known & CHARGE != 0 => Phase::Order,
            _ => Phase::Charge,
        };
        to(state, who, phase)
    }
}

fn taken(state: &mut State, who: usize) -> bool {
    state.attempts[who].losses += 1;
    match state.attempts[who].losses > LOSSES {
        true => over(state, who, Told::InFlight),
        false => to(state, who, Phase::Idle),
    }
}
