//! The requests that a run of checks is made of, and how their answers are compared and their effects counted.

use std::cell::Cell;

use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use uuid::Uuid;

use super::answer::{Answer, Comparison};
use super::asked::Asked;
use super::bodies::Bodies;
use super::caller::Callers;
use super::place::Place;
use super::profile::{Base, KeyForm, Profile};
use super::redact::redact;
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

    /// The difference between two answers, of which only one may have the marker.
    pub(super) fn difference(
        &self,
        first: &Answer,
        now: &Answer,
        is_exact: bool,
        volatile: &[HeaderName],
    ) -> Option<String> {
        let how = Comparison {
            is_exact,
            ignored: &[&self.profile.ignored, volatile].concat(),
            show: self.show,
        };
        let without = |answer: &Answer| {
            let mut answer = answer.clone();
            if let Some((name, _)) = &self.profile.marker {
                answer.headers.remove(name);
            }
            redact(&mut answer.headers, &mut answer.body, &self.profile.redact);
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
