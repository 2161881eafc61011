//! The requests that a run of checks is made of, and what was learnt of the server before the first check.

use std::cell::Cell;

use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use uuid::Uuid;

use super::answer::{Answer, Comparison};
use super::asked::Asked;
use super::bodies::Bodies;
use super::caller::Callers;
use super::place::Place;
use super::profile::{Base, KeyForm, Profile};
use super::wire::{Outgoing, Wire};
use crate::error::Error;

/// What every key begins with.
const PREFIX: &str = "idem-check-";

pub(super) struct Probe {
    pub(super) wire: Wire,
    pub(super) place: Place,
    pub(super) profile: Profile,
    pub(super) bodies: Bodies,
    pub(super) callers: Callers,
    method: Method,
    content_type: HeaderValue,
    counter: Option<Counter>,
    show: bool,
    prefix: String,
    keys: Cell<u32>,
}

struct Counter {
    wire: Wire,
    target: String,
    pointer: String,
}

/// What came of the first three requests: one operation, its retry, and another operation with the same body.
pub(super) struct Baseline {
    pub(super) key: String,
    pub(super) first: Answer,
    pub(super) another: Answer,
    /// Effects of one and of the other.
    pub(super) effects: Option<(i64, i64)>,
    /// How the retry differs from the first answer, in what the profile compares.
    pub(super) flaw: Option<String>,
    /// Whether replays say that they are some.
    pub(super) marks: bool,
    /// Whether answers of different operations differ.
    pub(super) differ: bool,
}

/// What an answer is in view of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Replay,
    New,
    /// Both would look like this.
    Unknown,
}

impl Probe {
    pub(super) fn of(asked: &Asked, profile: Profile) -> Result<Self, Error> {
        let usage = |option: &str, what: &str| Error::Usage(format!("{option}: {what}"));
        let place = Place::of("URL", &asked.url)?;
        let counter = match &asked.count {
            Some(url) => {
                let place = Place::of("--count", url)?;
                Some(Counter {
                    wire: Wire::to(&place, asked.timeout)?,
                    target: place.target,
                    pointer: asked.count_pointer.clone(),
                })
            }
            None => None,
        };
        let method = asked.method.parse();
        let content_type = asked.content_type.parse();
        Ok(Self {
            wire: Wire::to(&place, asked.timeout)?,
            place,
            profile,
            bodies: Bodies::of(asked)?,
            callers: Callers::of(&asked.header, &asked.other_header)?,
            method: method.map_err(|_| usage("--method", "this is no method"))?,
            content_type: content_type.map_err(|_| usage("--content-type", "this is no type"))?,
            counter,
            show: asked.show_bodies,
            // Enough to tell runs apart, and to leave room in keys that have to be of a length.
            prefix: format!("{PREFIX}{}-", &Uuid::new_v4().simple().to_string()[..12]),
            keys: Cell::new(0),
        })
    }

    /// What the keys of this run begin with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn counts(&self) -> bool {
        self.counter.is_some()
    }

    pub(super) fn is_strict(&self) -> bool {
        self.profile.base == Base::Strict
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    /// A key that nobody has had.
    pub(super) fn key(&self) -> String {
        let number = self.keys.get() + 1;
        self.keys.set(number);
        format!("{}{number}", self.prefix)
    }

    /// The usual request with this key.
    pub(super) fn request(&self, key: &str) -> Outgoing {
        self.request_of(&self.callers.me, key)
    }

    pub(super) fn request_of(&self, caller: &HeaderMap, key: &str) -> Outgoing {
        let line = match self.profile.key_form {
            KeyForm::Bare => key.to_owned(),
            KeyForm::Quoted => format!("\"{key}\""),
        };
        self.request_with(caller, [line.as_bytes()])
    }

    /// The usual request of somebody, with these lines as its key.
    pub(super) fn request_with<'a>(
        &self,
        caller: &HeaderMap,
        keys: impl IntoIterator<Item = &'a [u8]>,
    ) -> Outgoing {
        let mut headers = caller.clone();
        if !self.bodies.usual.is_empty() && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(CONTENT_TYPE, self.content_type.clone());
        }
        headers.remove(&self.profile.key_header);
        for key in keys {
            // What cannot stand in a header is not asked for anywhere.
            if let Ok(value) = HeaderValue::from_bytes(key) {
                headers.append(&self.profile.key_header, value);
            }
        }
        Outgoing {
            method: self.method.clone(),
            target: self.place.target.clone(),
            headers,
            body: self.bodies.usual.clone(),
        }
    }

    /// Asks for the first three answers. Without a success nothing can be checked.
    pub(super) async fn baseline(&self) -> Result<Baseline, Error> {
        let (key, another_key) = (self.key(), self.key());
        let before = self.count(&self.callers.me).await?;
        let first = self.successful(&key).await?;
        let retried = self.wire.send(&self.request(&key)).await?;
        let between = self.count(&self.callers.me).await?;
        let another = self.successful(&another_key).await?;
        let behind = self.count(&self.callers.me).await?;
        let effects = match (before, between, behind) {
            (Some(before), Some(between), Some(behind)) => {
                Some((between - before, behind - between))
            }
            _ => None,
        };
        let flaw = self.difference(&first, &retried, self.is_strict());
        let is_exact = self.is_strict() && flaw.is_none();
        Ok(Baseline {
            key,
            flaw,
            marks: !self.is_marked(&first) && self.is_marked(&retried),
            differ: self.difference(&first, &another, is_exact).is_some(),
            first,
            another,
            effects,
        })
    }

    async fn successful(&self, key: &str) -> Result<Answer, Error> {
        let answer = self.wire.send(&self.request(key)).await?;
        let why = match answer.status {
            301 | 307 | 308 => "what is to be checked is elsewhere",
            _ if answer.is_success() => return Ok(answer),
            _ => "only one that succeeds can be checked",
        };
        let status = answer.status;
        let what = format!("a request with a new key is answered {status}: {why}");
        Err(Error::Unchecked(what))
    }

    /// The difference between two answers, of which only one may have the marker.
    fn difference(&self, first: &Answer, now: &Answer, is_exact: bool) -> Option<String> {
        let how = Comparison {
            is_exact,
            ignored: &self.profile.ignored,
            show: self.show,
        };
        let without = |answer: &Answer| {
            let mut answer = answer.clone();
            if let Some((name, _)) = &self.profile.marker {
                answer.headers.remove(name);
            }
            answer
        };
        without(now).difference(&without(first), &how)
    }

    pub(super) fn is_marked(&self, answer: &Answer) -> bool {
        self.profile
            .marker
            .as_ref()
            .is_some_and(|(name, value)| answer.headers.get(name) == Some(value))
    }

    /// How many effects there are, as this client sees it; nothing if nobody says.
    pub(super) async fn count(&self, caller: &HeaderMap) -> Result<Option<i64>, Error> {
        let Some(counter) = &self.counter else {
            return Ok(None);
        };
        let request = Outgoing {
            method: Method::GET,
            target: counter.target.clone(),
            headers: caller.clone(),
            body: Bytes::new(),
        };
        let answer = counter.wire.send(&request).await?;
        let wrong = |what: String| Error::Unchecked(format!("--count: {what}"));
        if !answer.is_success() {
            return Err(wrong(format!("the answer is {}", answer.status)));
        }
        let document: Value = serde_json::from_slice(&answer.body)
            .map_err(|_| wrong("the answer is not JSON".to_owned()))?;
        let count = match document.pointer(&counter.pointer) {
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::Array(entries)) => i64::try_from(entries.len()).ok(),
            Some(Value::Object(members)) => i64::try_from(members.len()).ok(),
            _ => None,
        };
        let none = || {
            wrong(format!(
                "there is nothing to count at {:?}",
                counter.pointer
            ))
        };
        count.map(Some).ok_or_else(none)
    }
}

impl Baseline {
    /// The difference between two answers of one operation. What is wrong with every replay has been found already, and
    /// is not found again by every check.
    pub(super) fn difference(&self, probe: &Probe, first: &Answer, now: &Answer) -> Option<String> {
        probe.difference(first, now, probe.is_strict() && self.flaw.is_none())
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
}
