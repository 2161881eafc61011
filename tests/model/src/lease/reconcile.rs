//! The reconciler: it takes an operation that is due, looks into the outside world, and gives a verdict.

use super::{Lease, Row, Rule, Seen, State};
use crate::defects::Defect;

impl Lease {
    /// What is released waits for a client.
    pub(super) fn due(&self, state: &mut State) -> bool {
        let clock = state.clock;
        let Some(&row) = state.pending() else {
            return false;
        };
        let is_due = row.lease <= clock && row.rule != Rule::Released;
        if !is_due || state.worker.is_some() || state.verdicts == 0 {
            return false;
        }
        state.verdicts -= 1;
        state.worker = Some(Seen {
            owner: row.owner,
            stamp: row.stamp,
            found: None,
        });
        true
    }

    pub(super) fn reconcile(&self, state: &mut State) -> bool {
        let found = (state.charged.is_some(), state.live_calls);
        match &mut state.worker {
            Some(seen) if seen.found.is_none() => {
                seen.found = Some(found);
                true
            }
            _ => false,
        }
    }

    /// The row, if nobody has worked on it since.
    fn as_seen(&self, state: &State, seen: Seen) -> Option<Row> {
        let row = *state.pending()?;
        let is_that_lease = row.stamp == seen.stamp && row.lease <= state.clock;
        let is_seen =
            row.owner == seen.owner && (is_that_lease || self.is(Defect::VerdictOnAnyLease));
        is_seen.then_some(row)
    }

    pub(super) fn settle(&self, state: &mut State) -> bool {
        let Some(seen) = state.worker else {
            return false;
        };
        if !matches!(seen.found, Some((true, _))) || state.row_lock.is_some() {
            return false;
        }
        state.worker = None;
        if let Some(row) = self.as_seen(state, seen) {
            self.write_response(state, row.print, true);
        }
        true
    }

    pub(super) fn release(&self, state: &mut State) -> bool {
        let Some(seen) = state.worker else {
            return false;
        };
        let Some((false, live_calls)) = seen.found else {
            return false;
        };
        if state.row_lock.is_some() {
            return false;
        }
        state.worker = None;
        let Some(mut row) = self.as_seen(state, seen) else {
            return true;
        };
        state.words += 1;
        state.wrongs.verdict_unseen |= state.live_calls != live_calls;
        if row.steps == 0 && self.flaws.release_deletes {
            state.row = None;
            state.is_expected = false;
        } else {
            row.rule = Rule::Released;
            row.owner = state.another_owner();
            state.row = Some(row);
        }
        true
    }
}
