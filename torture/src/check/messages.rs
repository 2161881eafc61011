//! What was sent: every message of what has happened and none of what has not, each under one id and with its own bytes,
//! and those of one ordering key in the order in which they were committed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Findings, Kind, Story, windows};
use crate::backends::{State, Tables};
use crate::history::{Arrival, Moment};
use crate::plan::{Queued, Variant};

/// One id, and what came under it.
struct Sent<'a> {
    id: &'a str,
    body: &'a str,
    story: &'a Story<'a>,
    /// Its places in the plan.
    variant: usize,
    number: usize,
    /// Its place among all that was taken.
    taken: Option<usize>,
}

pub(super) fn check(
    stories: &[Story<'_>],
    arrivals: &[Arrival],
    tables: &Tables,
    findings: &mut Findings,
) {
    let sent = gather(stories, arrivals, findings);
    for message in &sent {
        if !tables.outbox.contains_key(message.id) {
            let detail = format!("{}: the outbox has never had it", message.told());
            findings.add(Kind::Unfounded, message.story, detail);
        }
    }
    check_outbox(&sent, tables, findings);
    check_counts(stories, &sent, findings);
    check_orders(&sent, tables, findings);
}

/// What came, by ids, in the order in which each was first taken.
fn gather<'a>(
    stories: &'a [Story<'a>],
    arrivals: &'a [Arrival],
    findings: &mut Findings,
) -> Vec<Sent<'a>> {
    let mut labels = BTreeMap::new();
    for story in stories {
        for (index, variant) in story.operation.variants.iter().enumerate() {
            labels.insert(variant.label.as_str(), (story, index));
        }
    }
    let mut sent: BTreeMap<&str, Sent<'a>> = BTreeMap::new();
    for (place, arrival) in arrivals.iter().enumerate() {
        let Some(found) = recognized(arrival, &labels) else {
            let detail = format!("{}, which nobody queues: {:.200}", arrival.id, arrival.body);
            findings.add_of(Kind::Garbled, "", detail);
            continue;
        };
        let known = sent.entry(&arrival.id).or_insert(found);
        if known.body != &*arrival.body {
            let detail = format!("{}, and then {:.200}", known.told(), arrival.body);
            findings.add(Kind::Garbled, known.story, detail);
        }
        if arrival.is_taken {
            known.taken.get_or_insert(place);
        }
    }
    let mut sent: Vec<_> = sent.into_values().collect();
    sent.sort_by_key(|message| message.taken);
    sent
}

fn recognized<'a>(
    arrival: &'a Arrival,
    labels: &BTreeMap<&str, (&'a Story<'a>, usize)>,
) -> Option<Sent<'a>> {
    let payload: Value = serde_json::from_str(&arrival.body).ok()?;
    let (story, variant) = *labels.get(payload["label"].as_str()?)?;
    let number = usize::try_from(payload["number"].as_u64()?).ok()?;
    let found = Sent {
        id: &arrival.id,
        body: &arrival.body,
        story,
        variant,
        number,
        taken: None,
    };
    let queued = story.operation.variants[variant].messages.get(number)?;
    (queued.payload == payload).then_some(found)
}

impl<'a> Sent<'a> {
    fn variant(&self) -> &'a Variant {
        &self.story.operation.variants[self.variant]
    }

    fn queued(&self) -> &'a Queued {
        &self.variant().messages[self.number]
    }

    fn told(&self) -> String {
        format!(
            "message {} of {} as {}",
            self.number,
            self.variant().label,
            self.id
        )
    }

    /// From when on it can have been committed, and by when it has been, where clients know: of an operation that can
    /// only have been run once.
    fn committed(&self) -> (Moment, Moment) {
        if windows::at_most(self.story) > 1 {
            return (0, Moment::MAX);
        }
        let asked = self.story.attempts.iter().map(|attempt| attempt.started);
        let successes = self
            .story
            .last_words()
            .filter(|(attempt, answer)| attempt.variant == self.variant && answer.is_success());
        let answered = successes.map(|(attempt, _)| attempt.ended);
        (
            asked.min().unwrap_or_default(),
            answered.min().unwrap_or(Moment::MAX),
        )
    }
}

/// Nothing waits any more, and nothing was given up.
fn check_outbox(sent: &[Sent<'_>], tables: &Tables, findings: &mut Findings) {
    let taken = sent.iter().filter(|message| message.taken.is_some());
    let taken: BTreeMap<_, _> = taken.map(|message| (message.id, message)).collect();
    for (id, message) in &tables.outbox {
        let is_taken = taken.contains_key(id.as_str());
        let kind = match message.state {
            State::Dead => Kind::GivenUp,
            State::Sent if is_taken => continue,
            State::Sent | State::Waiting => Kind::Undelivered,
        };
        let detail = format!("{id}: {message:?}, taken: {is_taken}");
        findings.add_of(kind, "", detail);
    }
}

/// As many as the effects that come with them.
fn check_counts(stories: &[Story<'_>], sent: &[Sent<'_>], findings: &mut Findings) {
    let mut ids: BTreeMap<(&str, usize), u64> = BTreeMap::new();
    for message in sent {
        *ids.entry((&message.variant().label, message.number))
            .or_default() += 1;
    }
    for story in stories {
        for variant in &story.operation.variants {
            let label = variant.label.as_str();
            let found = (0..variant.messages.len())
                .map(|number| ids.get(&(label, number)).copied().unwrap_or_default());
            check_count(story, variant, &found.collect::<Vec<_>>(), findings);
        }
    }
}

/// How many ids came of each message of one request.
fn check_count(story: &Story<'_>, variant: &Variant, found: &[u64], findings: &mut Findings) {
    let effects = story.tables.effects.get(&variant.label);
    let effects = effects.copied().unwrap_or_default();
    let (is_short, is_over) = if found.is_empty() {
        return;
    } else if variant.is_atomic {
        let runs = effects.checked_div(variant.effects).unwrap_or_default();
        (
            found.iter().any(|count| *count < runs),
            found.iter().any(|count| *count > runs),
        )
    } else {
        // One comes with each effect; which one with which is not known.
        let total: u64 = found.iter().sum();
        (
            total < effects,
            total > effects || found.iter().any(|count| *count > 1),
        )
    };
    let detail = format!(
        "{found:?} ids of each message of {}, which has {effects} effects; one run has {}",
        variant.label, variant.effects
    );
    if is_over {
        findings.add(Kind::Unfounded, story, detail);
    } else if is_short {
        findings.add(Kind::Undelivered, story, detail);
    }
}

/// In the order of the positions; and what was answered before another one was asked for was there before it.
fn check_orders(sent: &[Sent<'_>], tables: &Tables, findings: &mut Findings) {
    let mut orders: BTreeMap<&str, Vec<&Sent<'_>>> = BTreeMap::new();
    for message in sent.iter().filter(|message| message.taken.is_some()) {
        if let Some(order) = &message.queued().order {
            orders.entry(order).or_default().push(message);
        }
    }
    for (order, messages) in orders {
        // Of all that came before: the last one by its position, and the one that was asked for last.
        let mut newest: Option<(u64, &Sent<'_>)> = None;
        let mut latest: Option<(Moment, &Sent<'_>)> = None;
        for message in messages {
            let row = tables.outbox.get(message.id);
            let position = row.map_or(u64::MAX, |row| row.position);
            let (asked, answered) = message.committed();
            let told = message.told();
            let detail = if let Some((newest, other)) = newest.filter(|(own, _)| position < *own) {
                let other = other.told();
                format!("{other}, position {newest}, came before {told}, position {position}")
            } else if let Some((latest, other)) = latest.filter(|(own, _)| answered < *own) {
                let other = other.told();
                format!(
                    "{other}, asked for at {latest} µs, came before {told}, answered at {answered} µs"
                )
            } else {
                // One without a row is found elsewhere.
                if row.is_some() {
                    newest = Some((position, message));
                }
                if latest.is_none_or(|(latest, _)| asked > latest) {
                    latest = Some((asked, message));
                }
                continue;
            };
            let detail = format!("in {order}: {detail}");
            findings.add(Kind::Overtaken, message.story, detail);
        }
    }
}
