//! What was answered: the handler's own words, the same ones to everybody, once by the handler and then from the record,
//! and nothing of anybody else.

use std::collections::BTreeMap;

use super::{Findings, Kind, Story, windows};
use crate::history::{Answer, Attempt, Meaning};
use crate::operator;
use crate::plan::Settler;

const TENANT: &str = "tenant-";
const TENANT_LENGTH: usize = TENANT.len() + 3;
/// What the application's reconciler answers.
const RECONCILED: &str = "reconciled";

pub(super) fn check(story: &Story<'_>, findings: &mut Findings) {
    for (attempt, answer) in story.answered() {
        check_one(story, attempt, answer, findings);
    }
    check_equality(story, findings);
    check_runs(story, findings);
    check_winners(story, findings);
    check_order(story, findings);
}

fn check_one(story: &Story<'_>, attempt: &Attempt, answer: &Answer, findings: &mut Findings) {
    let operation = story.operation;
    let shown = || format!("{} {:?}: {:.300}", answer.status, answer.code, answer.body);
    for text in [&*answer.body, &answer.headers] {
        let found = text.match_indices(TENANT).find_map(|(at, _)| {
            let name = text.get(at..at + TENANT_LENGTH)?;
            (name != operation.tenant).then_some(name)
        });
        if let Some(name) = found {
            let detail = format!("{name} in an answer to {}: {}", operation.tenant, shown());
            return findings.add(Kind::ForeignTenant, story, detail);
        }
    }
    match answer.meaning() {
        Meaning::Later => {}
        Meaning::Foreign => findings.add(Kind::Unexpected, story, shown()),
        Meaning::Mismatch if operation.variants.len() == 1 => {
            findings.add(Kind::FalseMismatch, story, shown());
        }
        Meaning::Mismatch => {}
        Meaning::Final => {
            let variant = &operation.variants[attempt.variant];
            let is_own = answer.status == variant.status
                && answer.body == variant.body
                && answer.run.is_some();
            if !is_own && settler(story, answer).is_none() {
                findings.add(Kind::WrongAnswer, story, shown());
            }
        }
    }
}

/// Whose word it is, if somebody was asked how it ended.
pub(super) fn settler(story: &Story<'_>, answer: &Answer) -> Option<Settler> {
    let words = answer.body.strip_prefix(operator::WORDS);
    if answer.status != 201 {
        return None;
    }
    match story.operation.settler {
        Settler::Nobody => None,
        _ if &*answer.body == RECONCILED => Some(Settler::Reconciler),
        Settler::Operator if words == Some(story.operation.tenant.as_str()) => {
            Some(Settler::Operator)
        }
        Settler::Operator | Settler::Reconciler => None,
    }
}

fn check_equality(story: &Story<'_>, findings: &mut Findings) {
    let mut words = story.last_words();
    let Some((_, first)) = words.next() else {
        return;
    };
    let other = words.find(|(_, answer)| {
        (answer.status, &answer.headers, &answer.body)
            != (first.status, &first.headers, &first.body)
    });
    if let Some((_, other)) = other {
        let show = |answer: &Answer| {
            let headers = answer.headers.replace('\n', ", ");
            format!("{} [{headers}] {:.200}", answer.status, answer.body)
        };
        let detail = format!("{} and then {}", show(first), show(other));
        findings.add(Kind::Differs, story, detail);
    }
}

/// The words of two runs may be the same, but as long as the one's are honoured there are none of the other.
fn check_runs(story: &Story<'_>, findings: &mut Findings) {
    let mut runs: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
    for (attempt, answer) in story.last_words() {
        if let Some(run) = &answer.run {
            runs.entry(run).or_default().push(attempt);
        }
    }
    let runs: Vec<_> = runs.into_iter().collect();
    for (index, (one, answers)) in runs.iter().enumerate() {
        let other = runs[index + 1..].iter().find(|(_, others)| {
            !windows::may_follow(story, answers, others)
                && !windows::may_follow(story, others, answers)
        });
        if let Some((other, _)) = other {
            let detail = format!("runs {one} and {other} were both answered");
            return findings.add(Kind::TwoRuns, story, detail);
        }
    }
}

fn check_winners(story: &Story<'_>, findings: &mut Findings) {
    let mut winners: Vec<_> = story
        .last_words()
        .map(|(attempt, _)| attempt.variant)
        .collect();
    winners.sort_unstable();
    winners.dedup();
    if winners.len() > 1 {
        let detail = format!("requests {winners:?} were both answered");
        findings.add(Kind::TwoWinners, story, detail);
    }
}

/// After an answer, and as long as it is honoured, there is only that answer.
fn check_order(story: &Story<'_>, findings: &mut Findings) {
    let mut first: Option<&Attempt> = None;
    for (attempt, answer) in story.last_words() {
        if answer.is_replay {
            continue;
        }
        if let Some(first) = first
            && !windows::may_be_over(story, first, attempt)
        {
            let detail = format!(
                "answered by its handler at {}–{} µs and again at {}–{} µs",
                first.started, first.ended, attempt.started, attempt.ended
            );
            findings.add(Kind::RanAgain, story, detail);
        }
        first = Some(attempt);
    }
    let answers: Vec<_> = story.last_words().collect();
    for (attempt, answer) in story.answered() {
        // The latest one that was there before this was asked.
        let before = answers
            .iter()
            .take_while(|(known, _)| known.ended < attempt.started);
        let Some((known, _)) = before.last() else {
            continue;
        };
        if windows::may_be_over(story, known, attempt) {
            continue;
        }
        let is_own = known.variant == attempt.variant;
        let kind = match (answer.meaning(), answer.code.as_deref(), answer.status) {
            (Meaning::Mismatch, ..) if is_own => Kind::FalseMismatch,
            (Meaning::Later, Some("idempotency-in-flight"), _)
                if is_stopped_at_it(story, known, attempt) =>
            {
                continue;
            }
            (Meaning::Later, Some("idempotency-in-flight" | "idempotency-unresolved"), _) => {
                Kind::Forgotten
            }
            (Meaning::Later, Some("handler-failed"), _) | (Meaning::Later, None, 500..) => {
                Kind::RanAgain
            }
            _ => continue,
        };
        let detail = format!(
            "answered at {} µs; asked at {} µs it was {} {:?} {:.200}",
            known.ended, attempt.started, answer.status, answer.code, answer.body
        );
        findings.add(kind, story, detail);
    }
}

/// Whether the application may still be at a run of its own that began before the answer: it was stopped in the middle,
/// another one has answered meanwhile, and it has not noticed yet.
fn is_stopped_at_it(story: &Story<'_>, known: &Attempt, later: &Attempt) -> bool {
    story.attempts.iter().any(|attempt| {
        attempt.app == later.app && attempt.started < known.ended && attempt.answer().is_none()
    })
}
