//! Relays: publishing what is in hand, those of one order one after the other, and none after one that failed.

use super::store::bit;
use super::{Held, Mark, Outbox, Relay, State};
use crate::defects::Defect;

impl Outbox {
    /// What may be published now.
    pub(super) fn firsts(&self, relay: &Relay) -> Vec<u8> {
        let mut orders = Vec::new();
        let mut firsts = Vec::new();
        for held in &relay.hand {
            let order = self.order(held.message);
            if order.is_none() || !orders.contains(&order) {
                orders.push(order);
                firsts.push(held.position);
            }
        }
        firsts
    }

    pub(super) fn publish(&self, state: &mut State, who: usize, position: u8) -> bool {
        let held = leave(state, who, position);
        self.arrive(state, who, held);
        state.relays[who].told.push((position, Mark::Sent));
        true
    }

    pub(super) fn ack_is_lost(&self, state: &mut State, who: usize, position: u8) -> bool {
        mishap(state) && {
            let held = leave(state, who, position);
            self.arrive(state, who, held);
            self.fail(state, who, held, false)
        }
    }

    pub(super) fn does_not_arrive(&self, state: &mut State, who: usize, position: u8) -> bool {
        mishap(state) && {
            let held = leave(state, who, position);
            self.fail(state, who, held, false)
        }
    }

    pub(super) fn is_refused(&self, state: &mut State, who: usize, position: u8) -> bool {
        mishap(state) && {
            let held = leave(state, who, position);
            self.fail(state, who, held, true)
        }
    }

    fn arrive(&self, state: &mut State, who: usize, held: Held) {
        let Held { message, id, .. } = held;
        let id = match self.is(Defect::IdOfThePublishing) {
            true => state.relays[who].token,
            false => id,
        };
        self.has_id(state, message, id);
        let is_first = state.arrived & bit(message) == 0;
        state.wrongs.uncommitted |= !self.is_committed(state, message);
        state.wrongs.overtaken |= is_first && self.overtakes(state, message);
        state.arrived |= bit(message);
    }

    fn fail(&self, state: &mut State, who: usize, held: Held, is_permanent: bool) -> bool {
        let is_dead = is_permanent || held.attempt >= self.max_attempts;
        let mark = match is_dead {
            _ if self.is(Defect::FailureTakenForSent) => Mark::Sent,
            true => Mark::Dead,
            false => Mark::Failed,
        };
        let order = self.order(held.message);
        let relay = &mut state.relays[who];
        relay.told.push((held.position, mark));
        if order.is_none() || self.is(Defect::GoesOnBehindFailure) {
            return true;
        }
        let (behind, rest) = std::mem::take(&mut relay.hand)
            .into_iter()
            .partition(|held| self.order(held.message) == order);
        relay.hand = rest;
        untried(relay, behind);
        true
    }

    pub(super) fn leaves_the_rest(&self, state: &mut State, who: usize) -> bool {
        let relay = &state.relays[who];
        if relay.hand.is_empty() || !(relay.is_late || mishap(state)) {
            return false;
        }
        let relay = &mut state.relays[who];
        let rest = std::mem::take(&mut relay.hand);
        untried(relay, rest);
        true
    }
}

fn untried(relay: &mut Relay, rest: Vec<Held>) {
    let rest = rest.into_iter();
    relay
        .told
        .extend(rest.map(|held| (held.position, Mark::Untried)));
}

fn mishap(state: &mut State) -> bool {
    let may = state.left.mishaps > 0;
    state.left.mishaps -= u8::from(may);
    may
}

/// It leaves the hand.
fn leave(state: &mut State, who: usize, position: u8) -> Held {
    let hand = &mut state.relays[who].hand;
    let place = hand.iter().position(|held| held.position == position);
    hand.remove(place.unwrap_or_default())
}
