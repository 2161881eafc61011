//! What was done: as often as one run does it where somebody was told so, never more, and calls with one derived key
//! for each of them.

use std::collections::BTreeMap;

use super::{Findings, Kind, Story, answers, windows};
use crate::plan::{Settler, Variant};

pub(super) fn check(story: &Story<'_>, findings: &mut Findings) {
    let mut done = Vec::new();
    for (index, variant) in story.operation.variants.iter().enumerate() {
        let found = check_effects(story, index, variant, findings);
        let called = check_calls(story, index, variant, findings);
        if found || called {
            done.push(&variant.label);
        }
    }
    check_settlement(story, findings);
    if done.len() > 1 {
        let detail = format!("effects or calls of {done:?} under one key");
        findings.add(Kind::TwoWinners, story, detail);
    }
}

fn is_called(story: &Story<'_>, variant: &Variant) -> bool {
    let calls = story.tables.calls.get(&variant.label);
    calls.is_some_and(|calls| !calls.is_empty())
}

/// Whether its handler was told the same of its own end as its client.
fn ended_by_itself(story: &Story<'_>, index: usize) -> bool {
    story.has_success(index)
        && !story
            .last_words()
            .any(|(_, answer)| answers::settler(story, answer).is_some())
}

/// Whether there are any.
fn check_effects(
    story: &Story<'_>,
    index: usize,
    variant: &Variant,
    findings: &mut Findings,
) -> bool {
    let count = story
        .tables
        .effects
        .get(&variant.label)
        .copied()
        .unwrap_or_default();
    let runs = windows::at_most(story);
    let detail = format!(
        "{count} effects of {}; one run has {}, and there can have been {runs}",
        variant.label, variant.effects
    );
    if count > variant.effects * runs {
        let kind = if variant.effects == 0 {
            Kind::Torn
        } else {
            Kind::Doubled
        };
        findings.add(kind, story, detail);
    } else if ended_by_itself(story, index) && count < variant.effects * least_runs(story, index) {
        findings.add(Kind::Lost, story, detail);
    } else if is_torn(story, variant, count) {
        findings.add(Kind::Torn, story, detail);
    }
    count > 0
}

/// Whether some effects are there without what comes with them.
fn is_torn(story: &Story<'_>, variant: &Variant, count: u64) -> bool {
    let is_cut_short = count < variant.effects && is_called(story, variant);
    let is_in_parts = variant.effects > 0 && !count.is_multiple_of(variant.effects);
    variant.has_effects_first && is_cut_short || variant.is_atomic && is_in_parts
}

/// Who says that it has happened has seen it: the reconciler its calls, the operator anything of it.
fn check_settlement(story: &Story<'_>, findings: &mut Findings) {
    for (attempt, answer) in story.last_words() {
        let variant = &story.operation.variants[attempt.variant];
        let calls = story.tables.calls.get(&variant.label);
        let calls = calls.map_or(0, BTreeMap::len);
        let effects = story.tables.effects.get(&variant.label);
        let is_seen = match answers::settler(story, answer) {
            Some(Settler::Reconciler) => calls == variant.calls,
            Some(Settler::Operator) => calls > 0 || effects.is_some(),
            Some(Settler::Nobody) | None => continue,
        };
        if !is_seen {
            let detail = format!(
                "settled as `{}` with {calls} calls and {effects:?} effects of {}",
                answer.body, variant.label
            );
            return findings.add(Kind::Lost, story, detail);
        }
    }
}

/// As many as were answered by the handler itself, at least one.
fn least_runs(story: &Story<'_>, index: usize) -> u64 {
    let own = story
        .last_words()
        .filter(|(attempt, answer)| attempt.variant == index && !answer.is_replay);
    (own.count() as u64).clamp(1, windows::at_most(story))
}

/// Whether there are any.
fn check_calls(
    story: &Story<'_>,
    index: usize,
    variant: &Variant,
    findings: &mut Findings,
) -> bool {
    let none = BTreeMap::new();
    let calls = story.tables.calls.get(&variant.label).unwrap_or(&none);
    let is_short = calls.len() < variant.calls && ended_by_itself(story, index);
    let is_repeated = calls
        .values()
        .any(|count| *count > most_calls(story, index, variant));
    if calls.len() > variant.calls || is_short || is_repeated {
        let detail = format!(
            "{} should call with {} keys, {}; calls by key: {calls:?}",
            variant.label,
            variant.calls,
            if variant.may_repeat_calls {
                "each at least once, and at most once a run"
            } else {
                "each once"
            }
        );
        findings.add(Kind::Calls, story, detail);
    }
    !calls.is_empty()
}

/// With one key. Who asks makes it run once at most; how often a worker does is not known.
fn most_calls(story: &Story<'_>, index: usize, variant: &Variant) -> u64 {
    if !variant.may_repeat_calls {
        return 1;
    }
    if story.operation.is_driven {
        return u64::MAX;
    }
    let asked = story.attempts.iter().filter(|one| one.variant == index);
    asked.count() as u64
}

/// A derived key belongs to one operation.
pub(super) fn check_keys(stories: &[Story<'_>], findings: &mut Findings) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for story in stories {
        for variant in &story.operation.variants {
            let calls = story.tables.calls.get(&variant.label);
            for key in calls.into_iter().flat_map(BTreeMap::keys) {
                let owner = owners.entry(key).or_insert(&story.operation.id);
                if *owner != story.operation.id {
                    let detail = format!("{} calls with a key of {owner}", variant.label);
                    findings.add(Kind::SharedKey, story, detail);
                }
            }
        }
    }
}
