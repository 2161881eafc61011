//! One check at work: what it may send, what it may find out, and how it ends early.

use std::cell::{Cell, RefCell};

use hyper::body::Bytes;
use hyper::header::HeaderMap;

use super::answer::Answer;
use super::baseline::{Baseline, Relation};
use super::probe::Probe;
use super::rule::Rule;
use super::wire::{Outgoing, WireError};
use crate::error::Error;

/// What a server, or whatever stands in front of it, says when it has too much to do.
const BUSY: [u16; 4] = [429, 502, 503, 504];

/// Why a check ends before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// An answer is not as it has to be. A profile may document that.
    Violated(String),
    /// It was done more often than once. No profile excuses that.
    Doubled(String),
    /// It cannot be asked with what was given.
    Skipped(String),
    /// There was no answer that says one or the other.
    Unchecked(String),
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Self::Unchecked(error.to_string())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Unchecked(error.to_string())
    }
}

pub(super) type Finding<T = ()> = Result<T, Stop>;

pub(super) fn violated<T>(what: impl Into<String>) -> Finding<T> {
    Err(Stop::Violated(what.into()))
}

pub(super) fn doubled<T>(what: impl Into<String>) -> Finding<T> {
    Err(Stop::Doubled(what.into()))
}

pub(super) struct Trial<'a> {
    pub(super) probe: &'a Probe,
    pub(super) baseline: &'a Baseline,
    pub(super) deviations: RefCell<Vec<String>>,
    /// Whether effects should have been counted, and nobody could.
    pub(super) is_uncounted: Cell<bool>,
    /// Whether an answer could have been a replay or a new one: only a count tells.
    pub(super) is_ambiguous: Cell<bool>,
    /// What is worth knowing of a check that passes.
    pub(super) note: RefCell<Option<String>>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(probe: &'a Probe, baseline: &'a Baseline) -> Self {
        Self {
            probe,
            baseline,
            deviations: RefCell::default(),
            is_uncounted: Cell::default(),
            is_ambiguous: Cell::default(),
            note: RefCell::default(),
        }
    }

    pub(super) fn key(&self) -> String {
        self.probe.key()
    }

    pub(super) fn request(&self, key: &str) -> Outgoing {
        self.probe.request(key)
    }

    pub(super) async fn send(&self, request: &Outgoing) -> Finding<Answer> {
        Ok(self.probe.wire.send(request).await?)
    }

    /// Sends it, which must succeed.
    pub(super) async fn succeed(&self, request: &Outgoing) -> Finding<Answer> {
        let answer = self.send(request).await?;
        self.is_success(&answer, "a new key")?;
        Ok(answer)
    }

    pub(super) fn is_success(&self, answer: &Answer, what: &str) -> Finding {
        match answer.is_success() {
            true => Ok(()),
            false => self.wrong(answer, format!("{what} is answered {}", answer.status)),
        }
    }

    /// It is the refusal that the profile wants.
    pub(super) fn is_refused(&self, answer: &Answer, rule: &Rule, what: &str) -> Finding {
        if let Some(complaint) = rule.complaint(answer) {
            return self.wrong(answer, format!("{what}: {complaint}"));
        }
        self.deviations.borrow_mut().extend(rule.deviation());
        Ok(())
    }

    /// Whether it is an answer of the operation, and not that the operation still runs. The latter is asked first: a
    /// server may say it with 202.
    pub(super) fn is_done(&self, answer: &Answer, what: &str) -> Finding<bool> {
        let rule = &self.probe.profile.in_flight;
        let first = &self.baseline.first;
        let is_told_apart = first.status != rule.status
            || (rule.complaint(answer).is_none() && rule.complaint(first).is_some());
        let is_running = answer.status == rule.status && is_told_apart;
        if answer.is_success() && !is_running {
            return Ok(true);
        }
        self.is_refused(answer, rule, what)?;
        Ok(false)
    }

    /// It is the first answer again.
    pub(super) fn is_replay(&self, first: &Answer, now: &Answer, what: &str) -> Finding {
        let difference = self.difference(first, now);
        match (self.relation(first, now), difference) {
            (Relation::New, None) => violated(format!("{what} is answered as a new operation")),
            // With the marker it is a replay, however it looks: see `Baseline::flaw`.
            (Relation::Replay, Some(_)) if self.baseline.flaw.is_some() => Ok(()),
            (_, Some(difference)) => self.wrong(now, format!("{what}: {difference}")),
            (_, None) => Ok(()),
        }
    }

    /// A violation, unless the server only has no time.
    pub(super) fn wrong<T>(&self, answer: &Answer, what: String) -> Finding<T> {
        match BUSY.contains(&answer.status) {
            true => Err(Stop::Unchecked(format!("the server is busy: {what}"))),
            false => violated(what),
        }
    }

    pub(super) fn difference(&self, first: &Answer, now: &Answer) -> Option<String> {
        self.baseline.difference(self.probe, first, now)
    }

    pub(super) fn relation(&self, first: &Answer, now: &Answer) -> Relation {
        let relation = self.baseline.relation(self.probe, first, now);
        if relation == Relation::Unknown {
            self.is_ambiguous.set(true);
        }
        relation
    }

    pub(super) fn note(&self, what: String) {
        self.note.replace(Some(what));
    }

    /// How many effects there are now.
    pub(super) async fn count(&self) -> Finding<Option<i64>> {
        self.count_as(&self.probe.callers.me).await
    }

    pub(super) async fn count_as(&self, caller: &HeaderMap) -> Finding<Option<i64>> {
        Ok(self.probe.count(caller).await?)
    }

    /// Since `before` so many operations had their effects.
    pub(super) async fn effects(&self, before: Option<i64>, expected: i64) -> Finding {
        self.effects_as(&self.probe.callers.me, before, expected)
            .await
    }

    pub(super) async fn effects_as(
        &self,
        caller: &HeaderMap,
        before: Option<i64>,
        expected: i64,
    ) -> Finding {
        let now = self.count_as(caller).await?;
        let (Some(before), Some(now)) = (before, now) else {
            self.is_uncounted.set(true);
            return Ok(());
        };
        self.are(now - before, expected)
    }

    /// What the answers said, unless the effects say something worse: what a profile excuses in an answer may not
    /// hide what was done twice.
    pub(super) async fn settle(
        &self,
        said: Finding,
        before: Option<i64>,
        expected: i64,
    ) -> Finding {
        match (said, self.effects(before, expected).await) {
            (Err(Stop::Violated(said)), Err(Stop::Doubled(what))) => {
                doubled(format!("{said}; {what}"))
            }
            (_, Err(Stop::Doubled(what))) => doubled(what),
            (Ok(()), effects) => effects,
            (said, _) => said,
        }
    }

    pub(super) fn are(&self, effects: i64, expected: i64) -> Finding {
        // As the first request has shown, in either direction.
        let unit = self.baseline.unit.unwrap_or(1);
        let (effects, wanted) = (effects * unit.signum(), expected * unit.abs());
        let what = format!("there are {effects} effects, not {wanted}");
        match effects.cmp(&wanted) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => violated(what),
            std::cmp::Ordering::Greater => doubled(what),
        }
    }

    /// A body that has to be given.
    pub(super) fn needs(&self, body: &Option<Bytes>, option: &str) -> Finding<Bytes> {
        match body {
            Some(body) => Ok(body.clone()),
            None => Err(Stop::Skipped(format!("it needs {option}"))),
        }
    }
}
