//! What must hold in every state.

use stateright::{Model, Property};

use super::{Act, Attempt, Lease, Phase, Rule, State, Step, Told};

/// Of one key there is never a second effect in the database while a record is honoured or a claim stands.
pub const NO_SECOND_EFFECT: &str = "no second effect within the window";
/// Whoever is told a recorded answer is told the same one, and one to its own request.
pub const EQUAL_ANSWERS: &str = "equal answers";
/// What somebody was told has happened: all steps, or, by a verdict, the call.
pub const NO_ANSWER_WITHOUT_EFFECT: &str = "no answer without its effect";
/// Under `hold` each call but the first has somebody's word that the operation may be run again.
pub const NO_CALL_WITHOUT_A_WORD: &str = "no call without a word";
/// A derived key reaches the outside world for one request only.
pub const ONE_KEY_ONE_BODY: &str = "one derived key, one body";
/// Nobody takes over a claim that is trusted.
pub const NO_LIVE_CLAIM_TAKEN: &str = "no live claim taken over";
/// A verdict that nothing was done is not given where a trusted owner has done it since.
pub const NO_VERDICT_ON_WHAT_WAS_NOT_SEEN: &str = "no verdict on what was not seen";
/// A lease that its owner has ended is not trusted again.
pub const ENDED_STAYS_ENDED: &str = "ended stays ended";
/// A claim stands until somebody ends it, and a record for as long as it is honoured.
pub const NO_CLAIM_LOST: &str = "no claim and no record lost";
/// Nobody waits for ever; and where nobody is working, a retry or a verdict ends the operation.
pub const NOT_BLOCKED: &str = "no key blocked for ever";

/// What must be possible: a model in which nothing happens keeps every promise.
pub const SEEN: &[&str] = &["executed", "replayed", "a late owner has lost"];

pub(super) fn all() -> Vec<Property<Lease>> {
    vec![
        Property::always(NO_SECOND_EFFECT, |_, state: &State| {
            state.orders <= 1 + state.expired()
        }),
        Property::always(EQUAL_ANSWERS, equal_answers),
        Property::always(NO_ANSWER_WITHOUT_EFFECT, |_, state: &State| {
            state.told().all(|(_, record)| {
                let is_verdict = state.records.get(record).is_some_and(|it| it.is_verdict);
                state.charged.is_some() && (is_verdict || state.orders > 0)
            })
        }),
        Property::always(NO_CALL_WITHOUT_A_WORD, |model: &Lease, state: &State| {
            model.rule != Rule::Hold || state.calls <= 1 + state.words + state.expired()
        }),
        Property::always(ONE_KEY_ONE_BODY, |_, state: &State| {
            !state.wrongs.two_bodies
        }),
        Property::always(NO_LIVE_CLAIM_TAKEN, |_, state: &State| {
            !state.wrongs.live_claim_taken
        }),
        Property::always(NO_VERDICT_ON_WHAT_WAS_NOT_SEEN, |_, state: &State| {
            !state.wrongs.verdict_unseen
        }),
        Property::always(ENDED_STAYS_ENDED, |_, state: &State| {
            let Some(row) = state.pending() else {
                return true;
            };
            let ended = |(who, attempt): (usize, &Attempt)| {
                attempt.has_ended && row.owner == Some(super::store::token(who))
            };
            row.lease <= state.clock || !state.attempts.iter().enumerate().any(ended)
        }),
        Property::always(NO_CLAIM_LOST, |_, state: &State| {
            let is_honoured = |place: usize| state.records[place].until > state.clock;
            let last = state.records.len().checked_sub(1);
            let is_there = |place| state.row.and_then(|row| row.record) == Some(place);
            (!state.is_expected || state.row.is_some())
                && last.is_none_or(|place| !is_honoured(place) || is_there(place))
        }),
        Property::always(NOT_BLOCKED, not_blocked),
        Property::sometimes(SEEN[0], |_, state: &State| !state.records.is_empty()),
        Property::sometimes(SEEN[1], |_, state: &State| state.told().count() > 1),
        Property::sometimes(SEEN[2], |_, state: &State| {
            state.attempts.iter().any(|one| one.phase == Phase::Lost)
        }),
    ]
}

fn equal_answers(model: &Lease, state: &State) -> bool {
    let told: Vec<_> = state.told().collect();
    told.iter().enumerate().all(|(place, &(who, record))| {
        let Some(found) = state.records.get(record) else {
            return false;
        };
        let is_equal = |&(_, other): &(usize, usize)| {
            let Some(or_found) = state.records.get(other) else {
                return false;
            };
            let overlap = found.at < or_found.until && or_found.at < found.until;
            record == other || !overlap
        };
        found.of == model.print(who) && told[place..].iter().all(is_equal)
    })
}

/// As in transaction mode: all paths end, so everything must have come to an end where they do.
fn not_blocked(model: &Lease, state: &State) -> bool {
    let idle = |step: &Step| matches!(step.act, Act::Tick | Act::Renew | Act::Prune | Act::Due);
    if state.attempts.iter().any(Attempt::is_active)
        || !state.flying.is_empty()
        || state.worker.is_some()
    {
        return model.next_steps(state).iter().any(|(step, _)| !idle(step));
    }
    (0..state.attempts.len()).all(|like| retry(model, state, like))
}

/// Whether one more attempt, once every lease has run out, comes to a recorded answer, or to the word that
/// the key is used; or whether the operation is offered to the reconciler, and its verdict ends it.
fn retry(model: &Lease, state: &State, like: usize) -> bool {
    let (mut state, mut model) = (state.clone(), model.clone());
    model.attempts.push(model.print(like));
    state.attempts.push(Attempt::NEW);
    state.verdicts = 1;
    state.clock = state.pending().map_or(0, |row| row.lease).max(state.clock);
    let who = state.attempts.len() - 1;
    while state.attempts[who].phase != Phase::Over {
        let Some(&act) = super::acts::of(state.attempts[who].phase).first() else {
            return false;
        };
        if !model.act(&mut state, Step { who, act }) {
            return false;
        }
    }
    match state.attempts[who].told {
        Some(Told::Recorded(_) | Told::Mismatch) => true,
        Some(Told::Unresolved) => {
            let mut act = |act| model.act(&mut state, Step { who: 0, act });
            act(Act::Due) && act(Act::Reconcile) && (act(Act::Settle) || act(Act::Release))
        }
        _ => false,
    }
}

impl State {
    fn told(&self) -> impl Iterator<Item = (usize, usize)> {
        let told = self.attempts.iter().enumerate();
        told.filter_map(|(who, attempt)| match attempt.told {
            Some(Told::Recorded(record)) => Some((who, record)),
            _ => None,
        })
    }

    /// How many records are not honoured any more.
    fn expired(&self) -> u8 {
        let expired = self.records.iter().filter(|one| one.until <= self.clock);
        u8::try_from(expired.count()).unwrap_or(u8::MAX)
    }
}
