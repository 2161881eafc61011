//! Rows, as the statements find them, whoever waits for the answer.

use super::{Fate, Mark, Outbox, Phase, Relay, Row, State, Write};
use crate::defects::Defect;

pub(super) fn bit(message: u8) -> u16 {
    1 << message
}

impl State {
    pub(super) fn row(&self, position: u8) -> Option<&Row> {
        self.rows.iter().find(|row| row.position == position)
    }

    pub(super) fn row_mut(&mut self, position: u8) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.position == position)
    }

    /// What the sequence gives: a position behind all that anybody knows of.
    pub(super) fn next_position(&self) -> u8 {
        let rows = self.rows.iter().map(|row| row.position);
        let queued = self.runs.iter().flat_map(|run| &run.queued);
        let flying = self.flying.iter().flat_map(|write| &write.positions);
        let known = rows
            .chain(queued.filter_map(|queued| queued.position))
            .chain(flying.copied())
            .chain(self.relays.iter().flat_map(Relay::positions));
        known.max().map_or(0, |last| last + 1)
    }

    /// The smallest token that nobody has and nobody will prove: one that is new.
    pub(super) fn new_token(&self) -> u8 {
        let is_used = |token: &u8| {
            self.rows.iter().any(|row| row.owner == Some(*token))
                || self.relays.iter().any(|relay| relay.token == *token)
                || self.flying.iter().any(|write| write.token == *token)
        };
        (1..).find(|token| !is_used(token)).unwrap_or_default()
    }
}

impl Relay {
    fn positions(&self) -> impl Iterator<Item = u8> {
        let seen = match &self.phase {
            Phase::Looked(heads) => heads.clone(),
            Phase::Taking(runs) => runs.concat(),
            Phase::Idle | Phase::Working => Vec::new(),
        };
        let told = self.told.iter().map(|(position, _)| *position);
        let held = self.hand.iter().map(|held| held.position);
        seen.into_iter().chain(told).chain(held)
    }
}

impl Row {
    pub(super) fn is_open(&self) -> bool {
        self.fate == Fate::Waits && self.is_due
    }
}

impl Outbox {
    /// `WHERE owner = … AND position = …`: what it does not find, somebody else has.
    pub(super) fn mark(&self, state: &mut State, write: &Write) {
        for &position in &write.positions {
            let is_unproved = self.is(Defect::MarkedUnproved);
            let Some(row) = state.row_mut(position) else {
                continue;
            };
            let is_ours = row.owner == Some(write.token);
            if !is_ours && !is_unproved {
                continue;
            }
            let message = bit(row.message);
            row.owner = None;
            match write.mark {
                Mark::Sent => row.fate = Fate::Sent,
                Mark::Failed => (row.attempts, row.is_due) = (row.attempts + 1, false),
                Mark::Dead => (row.attempts, row.fate) = (0, Fate::Dead),
                Mark::Untried => row.is_due = true,
            }
            if write.mark == Mark::Sent {
                (row.attempts, row.is_due) = (0, false);
            }
            state.wrongs.late_mark |= !is_ours;
            if write.mark == Mark::Dead {
                state.given_up |= message;
            }
        }
    }

    /// Alone in the order, and behind all that is queued.
    pub(super) fn requeue(&self, state: &mut State, position: u8) -> bool {
        let Some(&row) = state.row(position) else {
            return false;
        };
        let is_locked =
            self.is_locked(state, row.message, None) && !self.is(Defect::RequeuedUnlocked);
        if row.fate != Fate::Dead || state.left.requeues == 0 || is_locked {
            return false;
        }
        state.left.requeues -= 1;
        let next = state.next_position();
        if let Some(row) = state.row_mut(position) {
            (row.fate, row.is_due) = (Fate::Waits, true);
            if !self.flaws.requeued_in_front {
                row.position = next;
            }
        }
        state.rows.sort_unstable_by_key(|row| row.position);
        true
    }

    pub(super) fn prune(&self, state: &mut State, position: u8) -> bool {
        let may = |row: &Row| match row.fate {
            Fate::Sent => true,
            Fate::Dead => self.is(Defect::PrunerDeletesDead),
            Fate::Waits => self.is(Defect::PrunerDeletesUnsent),
        };
        let Some(&row) = state.row(position).filter(|row| may(row)) else {
            return false;
        };
        if state.left.prunings == 0 {
            return false;
        }
        state.left.prunings -= 1;
        state.pruned |= bit(row.message);
        state.rows.retain(|one| one.position != position);
        true
    }
}
