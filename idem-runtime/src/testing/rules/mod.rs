//! The rules, one after the other. Each is told by what a client and the application's own count can see.
//!
//! No requests: those stand with each rule.

mod account;
mod bodies;
mod concurrent;
mod dropped;
mod failure;
mod first;
mod in_flight;
mod keys;
mod late_owner;

use std::collections::BTreeMap;

use super::course::{Course, Faults};
use super::report::{Report, Rule, Verdict};
use first::Beginning;

/// All of them.
pub(super) async fn all(course: &Course<'_, '_>) -> Report {
    let beginning = first::begin(course).await;
    let mut verdicts = BTreeMap::new();
    for &rule in Rule::ALL {
        let verdict = match because(course, rule) {
            Some(reason) => Verdict::Skipped(reason),
            None => one(course, rule, &beginning).await,
        };
        verdicts.insert(rule, counted(course, rule, verdict));
    }
    Report {
        endpoint: beginning.endpoint,
        verdicts,
        is_of_answers: is_of_answers(course),
        unsettled: course.unsettled.take(),
    }
}

/// What an uncounted effect might contradict is not proven, unless the test says that there is nothing to count.
fn counted(course: &Course<'_, '_>, rule: Rule, verdict: Verdict) -> Verdict {
    let has_effects = !matches!(rule, Rule::FirstRequest | Rule::Effects | Rule::Marker);
    let is_open = course.one.get().is_none() && !is_of_answers(course);
    match verdict {
        Verdict::Proven if is_open && has_effects => {
            Verdict::Unproven("effects were not counted".to_owned())
        }
        verdict => verdict,
    }
}

/// Whether nothing was counted, and the test says so.
fn is_of_answers(course: &Course<'_, '_>) -> bool {
    course.one.get().is_none() && because(course, Rule::Effects).is_some()
}

/// Why it is left out.
fn because(course: &Course<'_, '_>, rule: Rule) -> Option<String> {
    let mut skipped = course.proof.skipped.iter();
    let (_, reason) = skipped.find(|(skipped, _)| *skipped == rule)?;
    Some(reason.clone())
}

async fn one(course: &Course<'_, '_>, rule: Rule, beginning: &Beginning) -> Verdict {
    match rule {
        Rule::FirstRequest => beginning.first.clone(),
        Rule::Effects => beginning.effects.clone(),
        Rule::Retry => beginning.retry.clone(),
        Rule::Marker => beginning.marker.clone(),
        _ if beginning.first != Verdict::Proven => {
            Verdict::Unproven("the first request was not carried out".to_owned())
        }
        Rule::OtherBody => bodies::other(course).await,
        Rule::InFlight => in_flight::told(course).await,
        Rule::Concurrent => concurrent::one_effect(course).await,
        Rule::DroppedClient => dropped::answered_on_retry(course).await,
        Rule::Failure => failure::leaves_nothing(course).await,
        Rule::LateOwner => late_owner::adds_nothing(course).await,
        Rule::OtherAccount => account::is_another_operation(course).await,
        Rule::KeyMissing => keys::missing(course).await,
        Rule::KeyMalformed => keys::malformed(course).await,
        Rule::RefusedBody => bodies::refused(course).await,
    }
}

impl From<Faults> for Verdict {
    fn from(faults: Faults) -> Self {
        match faults.0.is_empty() {
            true => Self::Proven,
            false => Self::Broken(faults.0),
        }
    }
}

/// What is missing, and how it is said.
fn say_with(method: &str, what: &str) -> Verdict {
    Verdict::Unproven(format!("say with `{method}` {what}"))
}
