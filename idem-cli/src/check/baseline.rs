//! What was learnt of a server before the first check, and what an answer is in view of that.

use std::time::{Duration, Instant};

use hyper::header::HeaderName;

use super::answer::Answer;
use super::probe::Probe;
use crate::error::Error;

/// What came of the first requests: one operation, two retries of it, and another operation with the same body.
pub(super) struct Baseline {
    pub(super) key: String,
    pub(super) first: Answer,
    pub(super) another: Answer,
    /// How long the first answer took.
    pub(super) latency: Duration,
    /// By how much one operation changes the count.
    pub(super) unit: Option<i64>,
    /// Changes of the count by the first operation with its retries, and by the other one.
    pub(super) effects: Option<(i64, i64)>,
    /// How a retry differs from the first answer, in what the profile compares.
    pub(super) flaw: Option<String>,
    /// Whether replays say that they are some.
    pub(super) marks: bool,
    /// Headers that two replays of one answer have otherwise: they are of the moment, not of the record.
    pub(super) volatile: Vec<HeaderName>,
    /// Whether answers of different operations differ.
    differ: bool,
}

/// What an answer is in view of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Replay,
    New,
    /// Both would look like this.
    Unknown,
}

impl Baseline {
    /// Asks. Without a success nothing can be checked.
    pub(super) async fn of(probe: &Probe) -> Result<Self, Error> {
        let (key, another_key) = (probe.key(), probe.key());
        let me = &probe.callers.me;
        let before = probe.count(me).await?;
        let start = Instant::now();
        let first = successful(probe, &key).await?;
        let latency = start.elapsed();
        let unit = since(before, probe.count(me).await?);
        if unit == Some(0) {
            let what = "--count does not see what the first request did";
            return Err(Error::Unchecked(what.to_owned()));
        }
        let retried = probe.wire.send(&probe.request(&key)).await?;
        let again = probe.wire.send(&probe.request(&key)).await?;
        let between = probe.count(me).await?;
        let another = successful(probe, &another_key).await?;
        let behind = probe.count(me).await?;

        let volatile = match probe.is_marked(&retried) && probe.is_marked(&again) {
            true => again.volatile(&retried),
            false => Vec::new(),
        };
        let flaw = [&retried, &again]
            .into_iter()
            .find_map(|retry| probe.difference(&first, retry, probe.is_strict(), &volatile));
        let is_exact = probe.is_strict() && flaw.is_none();
        let differ = probe.difference(&first, &another, is_exact, &volatile);
        Ok(Self {
            key,
            latency,
            unit,
            effects: since(before, between).zip(since(between, behind)),
            flaw,
            marks: !probe.is_marked(&first) && probe.is_marked(&retried),
            differ: differ.is_some(),
            volatile,
            first,
            another,
        })
    }

    /// The difference between two answers of one operation. What is wrong with every replay has been found already, and
    /// is not found again by every check.
    pub(super) fn difference(&self, probe: &Probe, first: &Answer, now: &Answer) -> Option<String> {
        let is_exact = probe.is_strict() && self.flaw.is_none();
        probe.difference(first, now, is_exact, &self.volatile)
    }

    /// What `now` is in view of `first`.
    pub(super) fn relation(&self, probe: &Probe, first: &Answer, now: &Answer) -> Relation {
        if self.marks {
            return match probe.is_marked(now) {
                true => Relation::Replay,
                false => Relation::New,
            };
        }
        match self.difference(probe, first, now) {
            Some(_) => Relation::New,
            None if self.differ => Relation::Replay,
            None => Relation::Unknown,
        }
    }

    /// For people.
    pub(super) fn observed(&self) -> Vec<String> {
        let names = self.volatile.iter();
        names
            .map(|name| format!("{name} differs between two replays: it is not compared"))
            .collect()
    }
}

fn since(before: Option<i64>, now: Option<i64>) -> Option<i64> {
    Some(now? - before?)
}

async fn successful(probe: &Probe, key: &str) -> Result<Answer, Error> {
    let answer = probe.wire.send(&probe.request(key)).await?;
    let why = match answer.status {
        300..400 => "what is to be checked is elsewhere",
        _ if answer.is_success() => return Ok(answer),
        _ => "only one that succeeds can be checked",
    };
    let status = answer.status;
    let what = format!("a request with a new key is answered {status}: {why}");
    Err(Error::Unchecked(what))
}
