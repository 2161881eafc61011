//! One check at work: what it may send, what it may find out, and how it ends early.

use std::cell::{Cell, RefCell};

use hyper::body::Bytes;
use hyper::header::HeaderMap;

use super::answer::Answer;
use super::probe::{Baseline, Probe, Relation};
use super::rule::Rule;
use super::wire::{Outgoing, WireError};
use crate::error::Error;

/// Why a check ends before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The server does not keep it.
    Violated(String),
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

pub(super) struct Trial<'a> {
    pub(super) probe: &'a Probe,
    pub(super) baseline: &'a Baseline,
    pub(super) deviations: RefCell<Vec<String>>,
    /// Whether effects should have been counted, and nobody could.
    pub(super) is_uncounted: Cell<bool>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(probe: &'a Probe, baseline: &'a Baseline) -> Self {
        Self {
            probe,
            baseline,
            deviations: RefCell::default(),
            is_uncounted: Cell::default(),
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
            false => violated(format!("{what} is answered {}", answer.status)),
        }
    }

    /// It is the refusal that the profile wants.
    pub(super) fn is_refused(&self, answer: &Answer, rule: &Rule, what: &str) -> Finding {
        if let Some(complaint) = rule.complaint(answer) {
            return violated(format!("{what}: {complaint}"));
        }
        self.deviations.borrow_mut().extend(rule.deviation());
        Ok(())
    }

    /// It is the first answer again.
    pub(super) fn is_replay(&self, first: &Answer, now: &Answer, what: &str) -> Finding {
        let difference = self.difference(first, now);
        match (self.relation(first, now), difference) {
            (Relation::New, None) => violated(format!("{what} is answered as a new operation")),
            // With the marker it is a replay, however it looks: see `Baseline::flaw`.
            (Relation::Replay, Some(_)) if self.baseline.flaw.is_some() => Ok(()),
            (_, Some(difference)) => violated(format!("{what}: {difference}")),
            (_, None) => Ok(()),
        }
    }

    pub(super) fn difference(&self, first: &Answer, now: &Answer) -> Option<String> {
        self.baseline.difference(self.probe, first, now)
    }

    pub(super) fn relation(&self, first: &Answer, now: &Answer) -> Relation {
        self.baseline.relation(self.probe, first, now)
    }

    /// How many effects there are now.
    pub(super) async fn count(&self) -> Finding<Option<i64>> {
        self.count_as(&self.probe.callers.me).await
    }

    pub(super) async fn count_as(&self, caller: &HeaderMap) -> Finding<Option<i64>> {
        Ok(self.probe.count(caller).await?)
    }

    /// Since `before` there were so many effects.
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

    pub(super) fn are(&self, effects: i64, expected: i64) -> Finding {
        match effects == expected {
            true => Ok(()),
            false => violated(format!("there are {effects} effects, not {expected}")),
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
