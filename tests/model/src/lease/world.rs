//! What the world does to a run: crashes, broken connections, and statements that come late.

use super::attempt::{over, to};
use super::{Flying, Lease, Phase, State, Told};

/// The statement that is on the wire in a phase.
fn on_the_wire(phase: Phase) -> Option<Flying> {
    Some(match phase {
        Phase::Pend => Flying::Pend,
        Phase::FinishStep => Flying::FinishStep,
        Phase::Commit => Flying::Commit,
        Phase::Record => Flying::Record,
        Phase::Forget(_) => Flying::Forget,
        Phase::GiveBack => Flying::GiveBack,
        Phase::End => Flying::End,
        _ => return None,
    })
}

impl Lease {
    /// A take-over that is executed after the crash is a crash behind it.
    pub(super) fn crash(&self, state: &mut State, who: usize) -> bool {
        if !fault(state) {
            return false;
        }
        if let Some(flying) = on_the_wire(state.attempts[who].phase) {
            fly(state, who, flying);
        }
        state.attempts[who].is_dead = true;
        over(state, who, Told::Unavailable)
    }

    pub(super) fn cut(&self, state: &mut State, who: usize) -> bool {
        let phase = state.attempts[who].phase;
        let Some(flying) = on_the_wire(phase) else {
            return false;
        };
        if !fault(state) {
            return false;
        }
        fly(state, who, flying);
        state.attempts[who].is_cut = true;
        to(
            state,
            who,
            match phase {
                Phase::Pend => Phase::IsOurs,
                Phase::Commit => Phase::IsFinished,
                // It is asked again.
                phase => phase,
            },
        )
    }

    pub(super) fn gives_up(&self, state: &mut State, who: usize) -> bool {
        let attempt = state.attempts[who];
        attempt.is_cut
            && match attempt.phase {
                Phase::IsOurs | Phase::Record => over(state, who, Told::Unavailable),
                Phase::FinishStep | Phase::IsFinished => to(state, who, Phase::End),
                Phase::Forget(Told::Refused) => to(state, who, Phase::GiveBack),
                Phase::Forget(_) => to(state, who, Phase::End),
                // The lease is left to run out.
                Phase::GiveBack => over(state, who, Told::Refused),
                Phase::End => over(state, who, Told::Failed),
                _ => false,
            }
    }

    /// Its answer reaches nobody.
    pub(super) fn lands(&self, state: &mut State, place: usize) -> bool {
        let (who, flying) = state.flying[place];
        let may = flying == Flying::Pend || flying == Flying::Commit || state.row_lock.is_none();
        if !may {
            return false;
        }
        state.flying.remove(place);
        match flying {
            Flying::Pend => self.write_pending(state, who),
            Flying::FinishStep => self.write_step(state, who),
            Flying::Commit => {
                self.write_work(state, who);
                true
            }
            Flying::Record => self.write_record(state, who),
            Flying::Forget => self.delete_claim(state, who),
            Flying::GiveBack => self.write_end(state, who, true),
            Flying::End => self.write_end(state, who, false),
        };
        true
    }

    /// The server has noticed that nobody is there, and rolled back.
    pub(super) fn is_dropped(&self, state: &mut State, place: usize) -> bool {
        match state.flying.remove(place) {
            (_, Flying::Pend) => state.lock = None,
            (_, Flying::Commit) => state.row_lock = None,
            _ => {}
        }
        true
    }
}

fn fault(state: &mut State) -> bool {
    let may = state.faults > 0;
    state.faults -= u8::from(may);
    may
}

fn fly(state: &mut State, who: usize, flying: Flying) {
    state.flying.push((who, flying));
    state.flying.sort_unstable();
}
