//! The metrics of one endpoint: its names with their labels, made once and kept, so that a request allocates none.
//!
//! The names are kept, and not the recorder's handles: a recorder may be installed late, and may forget what has been
//! idle.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, SharedString, counter, with_recorder};

use super::names;
use super::{Outcome, Phase};
use crate::scope::Endpoint;

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

thread_local! {
    /// One for each method and route.
    static METERS: RefCell<HashMap<String, Rc<Meters>>> = RefCell::default();
}

/// The metrics of one endpoint.
#[derive(Debug)]
pub(super) struct Meters {
    /// Method and route: `POST /orders/{id}`.
    pub(super) endpoint: Arc<str>,
    requests: [Key; Outcome::ALL.len()],
    claim: Key,
    lease: Key,
    handler: Key,
    record: Key,
    wait: Key,
    age: Key,
    age_ratio: Key,
}

impl Meters {
    /// Those of this endpoint.
    pub(super) fn of(endpoint: &Endpoint) -> Rc<Self> {
        let name = endpoint.shown();
        METERS.with_borrow_mut(|all| match all.get(name) {
            Some(meters) => Rc::clone(meters),
            None => {
                let meters = Rc::new(Self::new(name));
                all.insert(name.to_owned(), Rc::clone(&meters));
                meters
            }
        })
    }

    fn new(endpoint: &str) -> Self {
        let endpoint = Arc::<str>::from(endpoint);
        let label = Label::new("endpoint", SharedString::from_shared(Arc::clone(&endpoint)));
        let key = |name: &'static str| Key::from_parts(name, vec![label.clone()]);
        Self {
            requests: Outcome::ALL.map(|outcome| {
                let outcome = Label::from_static_parts("outcome", outcome.as_str());
                Key::from_parts(names::REQUESTS, vec![label.clone(), outcome])
            }),
            claim: key(names::CLAIM_SECONDS),
            lease: key(names::LEASE_SECONDS),
            handler: key(names::HANDLER_SECONDS),
            record: key(names::RECORD_SECONDS),
            wait: key(names::WAIT_SECONDS),
            age: key(names::REPLAY_AGE_SECONDS),
            age_ratio: key(names::REPLAY_AGE_RATIO),
            endpoint,
        }
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        let key = &self.requests[outcome as usize];
        with_recorder(|recorder| recorder.register_counter(key, &METADATA).increment(1));
    }

    pub(super) fn took(&self, phase: Phase, time: Duration) {
        let key = match phase {
            Phase::Claim => &self.claim,
            Phase::Lease => &self.lease,
            Phase::Handler => &self.handler,
            Phase::Record => &self.record,
        };
        measure(key, time.as_secs_f64());
    }

    pub(super) fn waited(&self, time: Duration) {
        measure(&self.wait, time.as_secs_f64());
    }

    /// The age of a record that was replayed, and how long the endpoint keeps records.
    pub(super) fn replayed(&self, age: Duration, retain: Duration) {
        measure(&self.age, age.as_secs_f64());
        measure(&self.age_ratio, age.div_duration_f64(retain));
    }
}

fn measure(key: &Key, value: f64) {
    with_recorder(|recorder| recorder.register_histogram(key, &METADATA).record(value));
}

/// Counts one thing of this kind, for what is rare.
pub(crate) fn count(name: &'static str, label: &'static str, value: &'static str) {
    counter!(name, label => value).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_makes_up_is_in_no_label() {
        let of = |name: &str, is_known| {
            let name = name.to_owned();
            Meters::of(&Endpoint { name, is_known })
        };
        assert_eq!(&*of("POST /secret/1", false).endpoint, "*");
        let known = of("POST /orders", true);
        assert_eq!(&*known.endpoint, "POST /orders");
        assert!(Rc::ptr_eq(&known, &of("POST /orders", true)));
    }
}
