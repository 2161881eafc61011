//! A claim: BEGIN, lock, look, and what they mean together.

use super::acts::{leave, to};
use super::{Because, Grant, Isolation, Lock, Operation, Phase, Row, State, Told, Transaction};
use crate::defects::Defect;

impl Transaction {
    pub(super) fn claim(&self, state: &mut State, who: usize) -> bool {
        let row = state.rows.get(&self.row(self.operation(who))).copied();
        let is_old = self.isolation == Isolation::RepeatableRead || self.is(Defect::LookBeforeLock);
        state.attempts[who].snapshot = is_old.then_some(row);
        to(state, who, Phase::Begun)
    }

    /// `CASE WHEN try(fingerprint) THEN try(key) END`.
    pub(super) fn lock(&self, state: &mut State, who: usize) -> bool {
        let (first, second) = self.locks(self.operation(who));
        match state.attempts[who].phase {
            Phase::Begun => {
                let got = self.try_lock(state, who, first);
                to(state, who, Phase::HalfLocked(got))
            }
            Phase::HalfLocked(got) => {
                let got = (
                    got,
                    (got || self.is(Defect::KeyLockedFirst)) && self.try_lock(state, who, second),
                );
                let grant = match got {
                    (true, true) => Grant::Both,
                    (true, false) => Grant::KeyRefused,
                    (false, _) => Grant::FingerprintRefused,
                };
                let grant = match (self.is(Defect::KeyLockedFirst), got) {
                    (true, (false, true)) => Grant::KeyRefused,
                    (true, (_, false)) => Grant::FingerprintRefused,
                    _ => grant,
                };
                to(state, who, Phase::Locked(grant))
            }
            _ => false,
        }
    }

    fn locks(&self, operation: Operation) -> (Lock, Lock) {
        let Operation { key, print, .. } = operation;
        let (scope, _) = self.row(operation);
        let fingerprint = match self.is(Defect::LocksWithoutKey) {
            true => Lock::Fingerprint(0, 0, print),
            false => Lock::Fingerprint(scope, key, print),
        };
        match self.is(Defect::KeyLockedFirst) {
            true => (Lock::Key(scope, key), fingerprint),
            false => (fingerprint, Lock::Key(scope, key)),
        }
    }

    fn try_lock(&self, state: &mut State, who: usize, lock: Lock) -> bool {
        self.is(Defect::NoLockNoKey) || *state.locks.entry(lock).or_insert(who) == who
    }

    pub(super) fn free_locks(&self, state: &mut State, who: usize) {
        state.locks.retain(|_, holder| *holder != who);
    }

    /// A row outranks a refused lock.
    pub(super) fn look(&self, state: &mut State, who: usize) -> bool {
        let Phase::Locked(grant) = state.attempts[who].phase else {
            return false;
        };
        let operation = self.operation(who);
        let now = state.rows.get(&self.row(operation)).copied();
        let found = state.attempts[who].snapshot.unwrap_or(now);
        let is_live = |row: &Row| row.until > state.clock || self.is(Defect::ExpiredTakenForLive);
        if let Some(row) = found.filter(is_live) {
            let is_same =
                row.operation.print == operation.print || self.is(Defect::FingerprintNotCompared);
            let told = match is_same {
                true => Told::Recorded {
                    by: row.by,
                    expired: row.until <= state.clock,
                },
                false => Told::Mismatch,
            };
            return leave(state, who, Because::Told(told));
        }
        state.attempts[who].over_expired = found.is_some();
        match grant {
            Grant::Both => to(state, who, Phase::Free),
            Grant::KeyRefused => leave(state, who, Because::Told(Told::Mismatch)),
            Grant::FingerprintRefused => leave(state, who, Because::Told(Told::InFlight)),
        }
    }

    pub(super) fn rollback(&self, state: &mut State, who: usize) -> bool {
        let Phase::Leaving(because) = state.attempts[who].phase else {
            return false;
        };
        if state.attempts[who].is_cut {
            return false;
        }
        if !self.is(Defect::LocksOutliveTransaction) {
            self.free_locks(state, who);
        }
        match because {
            Because::Told(told) => {
                state.attempts[who].told = Some(told);
                to(state, who, Phase::Over)
            }
            Because::Again => {
                let attempt = &mut state.attempts[who];
                attempt.losses += 1;
                let is_enough = attempt.losses > self.losses();
                if is_enough {
                    attempt.told = Some(Told::Unavailable);
                }
                to(state, who, Phase::Over);
                is_enough || to(state, who, Phase::Idle)
            }
        }
    }

    /// How often somebody else may be first.
    fn losses(&self) -> u8 {
        2
    }
}
