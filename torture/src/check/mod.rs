//! What must be so of everything that clients saw, receivers got and tables hold: a verdict on a history, by rules that are one
//! function each. Sends nothing, reads no database, knows no clock.

mod answers;
mod effects;
mod leftovers;
pub(crate) mod logs;
mod messages;
#[cfg(test)]
mod tests;
mod windows;

use serde::Serialize;

use crate::backends::Tables;
use crate::history::{Answer, Attempt, Meaning, Record, Shift};
use crate::plan::Operation;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Kind {
    /// More effects than one run has.
    Doubled,
    /// Somebody was told of success, and the effects are not there, or not all of them.
    Lost,
    /// Some effects of a transaction without the others, or effects of what was refused.
    Torn,
    /// A handler was run though its operation has an answer.
    RanAgain,
    /// An operation with an answer was in flight, or unresolved, again.
    Forgotten,
    /// Two answers of one operation differ.
    Differs,
    /// An answer that its handler does not give.
    WrongAnswer,
    /// Something of another tenant.
    ForeignTenant,
    /// An answer that the contract does not know here.
    Unexpected,
    /// The same request was taken for another.
    FalseMismatch,
    /// Two runs of one operation were both given as its answer.
    TwoRuns,
    /// Two requests under one key were both done.
    TwoWinners,
    /// A derived key too many, too few, or used twice where that is not allowed.
    Calls,
    /// One derived key for two operations.
    SharedKey,
    /// A message of what has happened did not arrive.
    Undelivered,
    /// A message arrived of what has not happened, or more often than it has.
    Unfounded,
    /// Two contents under one id, or one that nobody has queued.
    Garbled,
    /// A message arrived in front of one that was committed before it and has the same ordering key.
    Overtaken,
    /// A relay has given a message up.
    GivenUp,
    /// No last word, though nothing is wrong any more.
    Stuck,
    /// A row that is still pending.
    Pending,
    /// An open transaction, or a lock.
    LeftOpen,
    /// An application panicked where no script said so.
    Panicked,
    /// A key, or something of a tenant, in an application's log.
    Logged,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Violation {
    pub(crate) kind: Kind,
    pub(crate) operation: String,
    pub(crate) detail: String,
}

/// One operation, with everything that was seen of it.
struct Story<'a> {
    operation: &'a Operation,
    attempts: Vec<&'a Attempt>,
    tables: &'a Tables,
    shifts: &'a [Shift],
}

struct Findings(Vec<Violation>);

/// Everything that is wrong; nothing, if the promise was kept.
pub(crate) fn check(record: &Record, tables: &Tables) -> Vec<Violation> {
    let mut stories: Vec<_> = record
        .operations
        .iter()
        .map(|operation| Story {
            operation,
            attempts: Vec::new(),
            tables,
            shifts: &record.shifts,
        })
        .collect();
    for attempt in &record.attempts {
        stories[attempt.operation].attempts.push(attempt);
    }
    let mut findings = Findings(Vec::new());
    for story in &mut stories {
        story.attempts.sort_by_key(|attempt| attempt.ended);
        answers::check(story, &mut findings);
        effects::check(story, &mut findings);
        leftovers::check(story, &mut findings);
    }
    effects::check_keys(&stories, &mut findings);
    messages::check(&stories, &record.arrivals, tables, &mut findings);
    leftovers::check_tables(tables, &mut findings);
    findings.0
}

impl<'a> Story<'a> {
    /// Attempts that were answered, in the order in which the answers came.
    fn answered(&self) -> impl Iterator<Item = (&'a Attempt, &'a Answer)> {
        self.attempts
            .iter()
            .filter_map(|attempt| Some((*attempt, attempt.answer()?)))
    }

    /// The operation's answers, as often as they were given.
    fn last_words(&self) -> impl Iterator<Item = (&'a Attempt, &'a Answer)> {
        self.answered()
            .filter(|(_, answer)| answer.meaning() == Meaning::Final)
    }

    fn has_success(&self, variant: usize) -> bool {
        self.last_words()
            .any(|(attempt, answer)| attempt.variant == variant && answer.is_success())
    }
}

impl Findings {
    fn add(&mut self, kind: Kind, story: &Story<'_>, detail: impl Into<String>) {
        self.add_of(kind, &story.operation.id, detail);
    }

    fn add_of(&mut self, kind: Kind, operation: &str, detail: impl Into<String>) {
        self.0.push(Violation {
            kind,
            operation: operation.into(),
            detail: detail.into(),
        });
    }
}
