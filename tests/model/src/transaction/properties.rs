//! What must hold in every state.

use stateright::{Model, Property};

use super::{Act, Attempt, Done, Phase, State, Step, Told, Transaction};

/// Of one key there is never a second effect while the first one's record is honoured.
pub const NO_SECOND_EFFECT: &str = "no second effect within the window";
/// Whoever is told a recorded answer is told the same one, and one to its own request.
pub const EQUAL_ANSWERS: &str = "equal answers";
/// A success that somebody was told has its effect, and a refusal has none.
pub const NO_ANSWER_WITHOUT_EFFECT: &str = "no answer without its effect";
/// An effect that is committed has its record.
pub const NO_EFFECT_WITHOUT_RECORD: &str = "no effect without its record";
/// No expired record is replayed.
pub const NO_EXPIRED_ANSWER: &str = "no expired answer";
/// In flight is said only of the same request, a mismatch only of another one with the key.
pub const NOT_IN_THE_WAY: &str = "nobody is in the way of others";
/// Every behaviour ends, with nobody waiting; and where nobody is working, a retry gets a recorded answer.
pub const NOT_BLOCKED: &str = "no key blocked for ever";
/// A record is there for as long as it is honoured.
pub const NO_RECORD_LOST: &str = "no record lost";

/// What must be possible: a model in which nothing happens keeps every promise.
pub const SEEN: &[&str] = &["executed", "replayed"];

pub(super) fn all() -> Vec<Property<Transaction>> {
    vec![
        Property::always(NO_SECOND_EFFECT, |_, state: &State| {
            let pairs = pairs(&state.effects);
            pairs.into_iter().all(|(first, second)| {
                first.operation.name() != second.operation.name()
                    || state.window(first).is_some_and(|until| second.at >= until)
            })
        }),
        Property::always(EQUAL_ANSWERS, equal_answers),
        Property::always(NO_ANSWER_WITHOUT_EFFECT, |_, state: &State| {
            state.told().all(|(_, by)| {
                let has_effect = state.effects.iter().any(|effect| effect.by == by);
                state
                    .records
                    .iter()
                    .any(|(done, _, needs)| done.by == by && *needs == has_effect)
            })
        }),
        Property::always(NO_EFFECT_WITHOUT_RECORD, |_, state: &State| {
            let has_record = |effect: &Done| state.window(effect).is_some();
            state.effects.iter().all(has_record)
        }),
        Property::always(NO_EXPIRED_ANSWER, |_, state: &State| {
            let is_expired = |attempt: &Attempt| {
                matches!(attempt.told, Some(Told::Recorded { expired: true, .. }))
            };
            !state.attempts.iter().any(is_expired)
        }),
        Property::always(NOT_IN_THE_WAY, not_in_the_way),
        Property::always(NOT_BLOCKED, not_blocked),
        Property::always(NO_RECORD_LOST, |model: &Transaction, state: &State| {
            let is_there = |(done, until, _): &(Done, u8, bool)| {
                let row = state.rows.get(&model.row(done.operation));
                *until <= state.clock || row.is_some_and(|row| row.by == done.by)
            };
            state.records.iter().all(is_there)
        }),
        Property::sometimes(SEEN[0], |_, state: &State| !state.effects.is_empty()),
        Property::sometimes(SEEN[1], |_, state: &State| {
            state.told().any(|(who, by)| who != by)
        }),
    ]
}

fn equal_answers(model: &Transaction, state: &State) -> bool {
    let told: Vec<_> = state.told().collect();
    let is_own = |&(who, by): &(usize, usize)| model.operation(who) == model.operation(by);
    told.iter().all(is_own)
        && pairs(&told).into_iter().all(|((one, by), (other, or_by))| {
            model.operation(*one) != model.operation(*other)
                || by == or_by
                || !state.overlap(*by, *or_by)
        })
}

fn not_in_the_way(model: &Transaction, state: &State) -> bool {
    state.attempts.iter().enumerate().all(|(who, attempt)| {
        let own = model.operation(who);
        let others = || {
            (0..state.attempts.len())
                .filter(|&other| other != who && state.attempts[other].has_begun())
                .map(|other| model.operation(other))
                .filter(|other| other.name() == own.name())
        };
        match attempt.told {
            Some(Told::InFlight) => others().any(|other| other.print == own.print),
            Some(Told::Mismatch) => others().any(|other| other.print != own.print),
            _ => true,
        }
    })
}

/// Every path of the model ends: an attempt goes forward only, and claims again a bounded number of
/// times; clock and faults are bounded. So that everything comes to an end is that it has come there
/// where nothing can happen any more. (`Property::eventually` does not see through joins of paths.)
fn not_blocked(model: &Transaction, state: &State) -> bool {
    if state.attempts.iter().any(Attempt::is_active) {
        let acts = |step: &Step| !matches!(step.act, Act::Tick | Act::Prune | Act::DatabaseCrashes);
        return model.next_steps(state).iter().any(|(step, _)| acts(step));
    }
    (0..state.attempts.len()).all(|who| retry(model, state, who))
}

/// Whether one more attempt comes to a recorded answer, or to the word that the key is used.
fn retry(model: &Transaction, state: &State, like: usize) -> bool {
    let mut state = state.clone();
    state.attempts.push(Attempt::NEW);
    let who = state.attempts.len() - 1;
    // Its operation is that of the attempt in whose place it comes.
    let mut model = model.clone();
    model.attempts.push(model.operation(like));
    let happy = [
        Act::Claim,
        Act::Lock,
        Act::Lock,
        Act::Look,
        Act::HandlerWorks,
        Act::Record,
        Act::CommitWith,
    ];
    for act in happy {
        if matches!(state.attempts[who].phase, Phase::Leaving(_)) {
            model.act(
                &mut state,
                Step {
                    who,
                    act: Act::Rollback,
                },
            );
            break;
        }
        if !model.act(&mut state, Step { who, act }) {
            return false;
        }
    }
    matches!(
        state.attempts[who].told,
        Some(Told::Recorded { .. } | Told::Mismatch)
    )
}

impl State {
    /// Who was told a recorded answer, and whose.
    fn told(&self) -> impl Iterator<Item = (usize, usize)> {
        let told = self.attempts.iter().enumerate();
        told.filter_map(|(who, attempt)| match attempt.told {
            Some(Told::Recorded { by, .. }) => Some((who, by)),
            _ => None,
        })
    }

    /// How long an effect's record is honoured.
    fn window(&self, effect: &Done) -> Option<u8> {
        let mut records = self.records.iter();
        let record = records.find(|(done, _, has_effect)| done.by == effect.by && *has_effect);
        record.map(|(_, until, _)| *until)
    }

    /// Whether both records were honoured at the same time.
    fn overlap(&self, one: usize, other: usize) -> bool {
        let window = |by: usize| {
            let mut records = self.records.iter();
            records
                .find(|(done, ..)| done.by == by)
                .map(|(done, until, _)| (done.at, *until))
        };
        match (window(one), window(other)) {
            (Some((from, until)), Some((or_from, or_until))) => from < or_until && or_from < until,
            // Somebody was told what nobody has recorded.
            _ => true,
        }
    }
}

fn pairs<T>(all: &[T]) -> Vec<(&T, &T)> {
    let behind = |(place, first)| all[place + 1..].iter().map(move |second| (first, second));
    all.iter().enumerate().flat_map(behind).collect()
}
