//! Relays: looking for heads, and taking orders through them.

use super::{Fate, Held, Outbox, Phase, Relay, Row, State};
use crate::defects::Defect;

impl Outbox {
    /// The first message of each order that is neither sent nor dead, if it is due.
    pub(super) fn look(&self, state: &mut State, who: usize) -> bool {
        if state.relays[who].phase != Phase::Idle {
            return false;
        }
        let mut heads = Vec::new();
        let mut orders = Vec::new();
        let mut is_idle = true;
        for row in &state.rows {
            let is_over = match row.fate {
                Fate::Waits => false,
                Fate::Sent => true,
                Fate::Dead => !self.is(Defect::DeadHoldsUp),
            };
            if is_over {
                continue;
            }
            match self.order(row.message) {
                None => is_idle &= !row.is_open(),
                Some(order) if orders.contains(&order) && !self.is(Defect::NotThroughTheHead) => {}
                Some(order) => {
                    orders.push(order);
                    if row.is_open() {
                        heads.push(row.position);
                    }
                }
            }
        }
        if heads.is_empty() && is_idle {
            return false;
        }
        state.relays[who].phase = Phase::Looked(heads);
        true
    }

    /// What the statement's snapshot shows: the heads that are still due with those that follow them without a gap,
    /// and what is in no order.
    pub(super) fn begin_taking(&self, state: &mut State, who: usize) -> bool {
        let Phase::Looked(seen) = &state.relays[who].phase else {
            return false;
        };
        let heads = seen.iter().filter_map(|head| {
            let head = state.row(*head)?;
            let is_due = head.is_open() || self.is(Defect::HeadTakenAsSeen);
            is_due.then(|| self.run_from(state, head))
        });
        let loose = state.rows.iter();
        let loose = loose.filter(|row| self.order(row.message).is_none() && row.is_open());
        let runs: Vec<_> = heads.chain(loose.map(|row| vec![row.position])).collect();
        state.relays[who].phase = Phase::Taking(runs);
        true
    }

    fn run_from(&self, state: &State, head: &Row) -> Vec<u8> {
        let order = self.order(head.message);
        let followers = state.rows.iter().filter(|row| {
            row.position > head.position
                && row.fate == Fate::Waits
                && self.order(row.message) == order
        });
        let alone = self.is(Defect::NotThroughTheHead);
        let few = followers.take(if alone { 0 } else { self.in_order - 1 });
        let is_open = |row: &&Row| row.is_open();
        let run: Vec<_> = match self.is(Defect::ClosedIsPassedBy) {
            true => few.filter(is_open).collect(),
            false => few.take_while(is_open).collect(),
        };
        let run = run.into_iter().map(|row| row.position);
        std::iter::once(head.position).chain(run).collect()
    }

    /// What was chosen is locked and looked at again. A head that is not due any more is left, and its run with it; a run
    /// ends in front of what is not due any more.
    pub(super) fn take(&self, state: &mut State, who: usize) -> bool {
        let Phase::Taking(runs) = std::mem::replace(&mut state.relays[who].phase, Phase::Idle)
        else {
            return false;
        };
        let token = match self.is(Defect::TokenOfTheRelay) {
            true => 50 + u8::try_from(who).unwrap_or_default(),
            false => state.new_token(),
        };
        let mut hand = Vec::new();
        for run in runs {
            for (place, position) in run.into_iter().enumerate() {
                let is_unseen = place == 0 && self.is(Defect::HeadTakenAsSeen);
                let row = state
                    .row_mut(position)
                    .filter(|row| row.fate == Fate::Waits);
                let row = row.filter(|row| is_unseen || row.is_open());
                let Some(row) = row else {
                    if place > 0 && self.flaws.take_leaves_gaps {
                        continue;
                    }
                    break;
                };
                (row.owner, row.is_due) = (Some(token), false);
                hand.push(Held {
                    position,
                    message: row.message,
                    id: row.id,
                    attempt: row.attempts + 1,
                });
            }
        }
        if !hand.is_empty() {
            hand.sort_unstable_by_key(|held| held.position);
            state.relays[who] = Relay {
                phase: Phase::Working,
                token,
                hand,
                ..Relay::NEW
            };
        }
        true
    }
}
