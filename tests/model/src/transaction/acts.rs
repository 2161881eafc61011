//! The actions, and in which phase each may happen.

use super::{Because, Operation, Phase, State, Step, Told, Transaction};
use crate::acts::acts;

acts! {
    /// What may happen.
    Act
    code {
        /// BEGIN, with lock and look behind it.
        Claim = "claim" in "store/postgres.rs",
        /// One try of the lock statement; it has two.
        Lock = "lock" in "store/postgres.rs",
        /// The look, and what lock and look mean.
        Look = "look" in "store/postgres.rs",
        /// The record, in the open transaction.
        Record = "record" in "store/postgres.rs",
        /// COMMIT behind the record.
        CommitWith = "commit_with" in "transaction/postgres.rs",
        /// ROLLBACK in front of the record of a refusal.
        RollbackWith = "rollback_with" in "transaction/postgres.rs",
        /// The statements behind that, each of which commits by itself.
        Remember = "remember" in "store/postgres.rs",
        /// ROLLBACK.
        Rollback = "rollback" in "transaction/postgres.rs",
        /// One turn of the pruner.
        Prune = "prune" in "store/postgres/prune.rs",
    }
    world {
        /// The handler has done its work, and answers with a success.
        HandlerWorks,
        /// The handler has done some work, and answers with a refusal that is recorded.
        HandlerRefuses,
        /// The handler has done some work, and answers with what is not recorded; or it panics, or has no time left.
        HandlerFails,
        /// The process dies, or its connection to the database breaks: what is on the wire may still be executed.
        Cut,
        /// The server notices that nobody is there any more.
        ServerNotices,
        /// The database crashes, and comes back.
        DatabaseCrashes,
        /// The database's clock goes on.
        Tick,
    }
}

pub(super) fn of(phase: Phase) -> &'static [Act] {
    use Act::*;
    match phase {
        Phase::Idle => &[Claim],
        Phase::Begun | Phase::HalfLocked(_) => &[Lock, Cut, ServerNotices],
        Phase::Locked(_) => &[Look, Cut, ServerNotices],
        Phase::Free => &[
            HandlerWorks,
            HandlerRefuses,
            HandlerFails,
            Cut,
            ServerNotices,
        ],
        Phase::Recording => &[Record, Cut, ServerNotices],
        Phase::Inserted => &[CommitWith, Cut, ServerNotices],
        Phase::Remembering => &[RollbackWith, Cut, ServerNotices],
        Phase::Alone => &[Remember, Cut, ServerNotices],
        Phase::Leaving(_) => &[Rollback, Cut, ServerNotices],
        Phase::Over => &[],
    }
}

impl Transaction {
    /// Does it; `false` where it cannot happen now.
    pub(super) fn act(&self, state: &mut State, step: Step) -> bool {
        let who = step.who;
        match step.act {
            Act::Claim => self.claim(state, who),
            Act::Lock => self.lock(state, who),
            Act::Look => self.look(state, who),
            Act::HandlerWorks => to(state, who, Phase::Recording),
            Act::HandlerRefuses => self.refusals && to(state, who, Phase::Remembering),
            Act::HandlerFails => self.refusals && leave(state, who, Because::Told(Told::Failed)),
            Act::Record => self.record(state, who),
            Act::CommitWith => self.commit_with(state, who),
            Act::RollbackWith => self.rollback_with(state, who),
            Act::Remember => self.remember(state, who),
            Act::Rollback => self.rollback(state, who),
            Act::Prune => self.prune(state),
            Act::Cut => cut(state, who),
            Act::ServerNotices => self.server_notices(state, who),
            Act::DatabaseCrashes => database_crashes(state),
            Act::Tick => {
                state.clock += 1;
                state.clock <= self.ticks
            }
        }
    }

    pub(super) fn operation(&self, who: usize) -> Operation {
        self.attempts[who % self.attempts.len()]
    }

    fn server_notices(&self, state: &mut State, who: usize) -> bool {
        state.attempts[who].is_cut && {
            self.free_locks(state, who);
            to(state, who, Phase::Over)
        }
    }
}

/// A handler that has lost its connection goes no further.
pub(super) fn to(state: &mut State, who: usize, phase: Phase) -> bool {
    let attempt = &mut state.attempts[who];
    let may = !(attempt.is_cut && attempt.phase == Phase::Free) || phase == Phase::Over;
    attempt.phase = phase;
    if phase == Phase::Over {
        (attempt.snapshot, attempt.over_expired, attempt.until) = (None, false, 0);
    }
    may
}

pub(super) fn leave(state: &mut State, who: usize, because: Because) -> bool {
    to(state, who, Phase::Leaving(because))
}

fn cut(state: &mut State, who: usize) -> bool {
    let attempt = &mut state.attempts[who];
    if attempt.is_cut || state.faults == 0 {
        return false;
    }
    state.faults -= 1;
    attempt.is_cut = true;
    attempt.told = Some(Told::Unavailable);
    true
}

/// Every transaction is gone, and every lock.
fn database_crashes(state: &mut State) -> bool {
    if state.faults == 0 || !state.attempts.iter().any(super::Attempt::is_active) {
        return false;
    }
    state.faults -= 1;
    state.locks.clear();
    for who in 0..state.attempts.len() {
        if state.attempts[who].is_active() {
            state.attempts[who].told = Some(Told::Unavailable);
            to(state, who, Phase::Over);
        }
    }
    true
}
