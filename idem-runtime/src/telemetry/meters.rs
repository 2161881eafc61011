//! The metrics of one endpoint: its names with their labels, made once and kept, so that a request allocates none.
//!
//! The names are kept, and not the recorder's handles: a recorder may be installed late, and may forget what has been
//! idle.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::Method;
use metrics::{Key, Label, Level, Metadata, SharedString, counter, with_recorder};

use super::names;
use super::{Outcome, Phase};

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// Those methods that are names. Others are whatever a client writes.
const METHODS: [Method; 9] = [
    Method::CONNECT,
    Method::DELETE,
    Method::GET,
    Method::HEAD,
    Method::OPTIONS,
    Method::PATCH,
    Method::POST,
    Method::PUT,
    Method::TRACE,
];

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
    /// Those of the endpoint that this request has come to.
    pub(super) fn of(request: &HttpRequest) -> Rc<Self> {
        let endpoint = endpoint(request);
        METERS.with_borrow_mut(|all| match all.get(&endpoint) {
            Some(meters) => Rc::clone(meters),
            None => {
                let meters = Rc::new(Self::new(&endpoint));
                all.insert(endpoint, Rc::clone(&meters));
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

/// Method and route. What a client can choose freely is not in it.
fn endpoint(request: &HttpRequest) -> String {
    let method = match METHODS.contains(request.method()) {
        true => request.method().as_str(),
        false => "_OTHER",
    };
    match request.match_pattern() {
        Some(route) => format!("{method} {route}"),
        None => format!("{method} *"),
    }
}

/// Counts one thing of this kind, for what is rare.
pub(crate) fn count(name: &'static str, label: &'static str, value: &'static str) {
    counter!(name, label => value).increment(1);
}
