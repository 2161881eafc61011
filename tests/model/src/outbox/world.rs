//! Times that come.

use super::{Fate, Outbox, Phase, State};
use crate::defects::Defect;

impl Outbox {
    /// All that was taken together, at once. A dead relay's claims run out of themselves.
    pub(super) fn runs_out(&self, state: &mut State, token: u8) -> bool {
        let is_its = |row: &super::Row| row.owner == Some(token) && !row.is_due;
        if !state.rows.iter().any(is_its) || self.is(Defect::ClaimsNeverRunOut) {
            return false;
        }
        let mut relays = state.relays.iter_mut();
        let holder = relays.find(|one| one.phase == Phase::Working && one.token == token);
        if let Some(holder) = holder {
            if state.left.pauses == 0 {
                return false;
            }
            state.left.pauses -= 1;
            holder.is_late = true;
        }
        for row in state.rows.iter_mut().filter(|row| is_its(row)) {
            row.is_due = true;
        }
        true
    }

    pub(super) fn comes_due(&self, state: &mut State, position: u8) -> bool {
        let row = state
            .row_mut(position)
            .filter(|row| row.fate == Fate::Waits && row.owner.is_none() && !row.is_due);
        row.map(|row| row.is_due = true).is_some()
    }
}
