//! Relays: writing down what became of messages. Whoever was not tried comes last.

use super::{Act, Mark, Outbox, Phase, Relay, State, Write};

/// The order in which it is written.
const KINDS: [(Mark, Act); 4] = [
    (Mark::Sent, Act::Sent),
    (Mark::Failed, Act::PutOff),
    (Mark::Dead, Act::GiveUp),
    (Mark::Untried, Act::GiveBack),
];

impl Outbox {
    /// The next statement. What has arrived and what was not tried is written at once, the others one by one.
    fn next_write(&self, relay: &Relay) -> Option<(Write, Act)> {
        let positions = |mark| {
            let told = relay.told.iter().filter(move |(_, told)| *told == mark);
            told.map(|(position, _)| *position)
        };
        let (mark, act) = KINDS
            .into_iter()
            .find(|(mark, _)| positions(*mark).next().is_some())?;
        let at_once = match mark {
            Mark::Sent | Mark::Untried => usize::MAX,
            Mark::Failed | Mark::Dead => 1,
        };
        let write = Write {
            token: relay.token,
            mark,
            positions: positions(mark).take(at_once).collect(),
        };
        Some((write, act))
    }

    pub(super) fn write(&self, state: &mut State, who: usize, act: Act) -> bool {
        let Some((write, next)) = self.next_write(&state.relays[who]) else {
            return false;
        };
        if next != act {
            return false;
        }
        self.mark(state, &write);
        let is_written = |position: &u8| write.positions.contains(position);
        let relay = &mut state.relays[who];
        relay.told.retain(|(position, _)| !is_written(position));
        end(relay);
        true
    }

    /// The database was away for as long as the claim lasted.
    pub(super) fn gives_up_writing(&self, state: &mut State, who: usize) -> bool {
        let relay = &mut state.relays[who];
        let may = relay.is_late && !relay.told.is_empty();
        if may {
            relay.told.clear();
            end(relay);
        }
        may
    }

    pub(super) fn crash(&self, state: &mut State, who: usize) -> bool {
        if state.left.faults == 0 || state.relays[who].phase != Phase::Working {
            return false;
        }
        self.fly(state, who);
        state.relays[who] = Relay::NEW;
        true
    }

    pub(super) fn cut(&self, state: &mut State, who: usize) -> bool {
        state.left.faults > 0 && !state.relays[who].told.is_empty() && {
            self.fly(state, who);
            true
        }
    }

    fn fly(&self, state: &mut State, who: usize) {
        state.left.faults -= 1;
        if let Some((write, _)) = self.next_write(&state.relays[who]) {
            state.flying.push(write);
            state.flying.sort_unstable();
        }
    }

    pub(super) fn lands(&self, state: &mut State, place: usize) -> bool {
        let write = state.flying.remove(place);
        self.mark(state, &write);
        true
    }
}

/// The next turn begins when all is written down.
fn end(relay: &mut Relay) {
    if relay.hand.is_empty() && relay.told.is_empty() {
        *relay = Relay::NEW;
    }
}
