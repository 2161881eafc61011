//! What is known of one request, to be counted once when all of it is over: also behind a client that has hung up.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use futures_util::FutureExt;
use metrics::counter;
use tokio::time::Instant;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span, info_span};

use super::digests::KeyDigests;
use super::meters::Meters;
use super::names;
use super::{Outcome, Phase};
use crate::operation::Refusal;
use crate::policy::IdempotencyPolicy;
use crate::scope::{Endpoint, OperationId, is_a_name};

/// One request. Whoever works on it has a clone, and the last one to go counts it.
#[derive(Debug, Clone)]
pub(crate) struct Tally(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    meters: Rc<Meters>,
    span: Span,
    outcome: Cell<Option<Outcome>>,
    waited: Cell<Option<Duration>>,
}

impl Tally {
    /// Begins with a request whose key has not been looked at. `system` is the database's name in the words of
    /// OpenTelemetry, where there is one.
    pub(crate) fn new(
        policy: &IdempotencyPolicy,
        request: &HttpRequest,
        endpoint: &Endpoint,
        system: Option<&str>,
    ) -> Self {
        let method = match is_a_name(request.method()) {
            true => request.method().as_str(),
            // As OpenTelemetry says it of methods that a client has made up.
            false => "_OTHER",
        };
        let span = info_span!(
            names::OPERATION_SPAN,
            http.request.method = method,
            http.route = request.match_pattern(),
            db.system.name = system,
            idempotency.scope = policy.scope.name(),
            idempotency.mode = policy.lease.map_or("transaction", |_| "lease"),
            idempotency.key.digest = Empty,
            idempotency.outcome = Empty,
        );
        Self(Rc::new(Inner {
            meters: Meters::of(endpoint),
            span,
            outcome: Cell::default(),
            waited: Cell::default(),
        }))
    }

    pub(crate) fn span(&self) -> &Span {
        &self.0.span
    }

    /// Says of which operation it is: of a key only its digest. Nothing is computed where nobody looks.
    pub(crate) fn named(&self, digests: &KeyDigests, id: &OperationId) {
        let span = &self.0.span;
        if !span.is_disabled() {
            span.record("idempotency.key.digest", digests.of(&id.row));
        }
    }

    /// Says how the request ended. The last word counts.
    pub(crate) fn tell(&self, outcome: Outcome) {
        self.0.outcome.set(Some(outcome));
    }

    /// The same where nobody has said so: by the answer.
    pub(crate) fn conclude(&self, ended: &Result<HttpResponse, Refusal>) {
        if let (None, Err(refusal)) = (self.0.outcome.get(), ended) {
            self.tell(Outcome::of(refusal));
        }
    }

    /// Measures this part of the request, in a span of its own.
    pub(crate) fn timed<T>(
        &self,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = T> {
        let (meters, begun) = (Rc::clone(&self.0.meters), Instant::now());
        let work = work.instrument(phase.span());
        work.inspect(move |_| meters.took(phase, begun.elapsed()))
    }

    /// A duplicate has waited for its first attempt.
    pub(crate) fn waited(&self, time: Duration) {
        let waited = &self.0.waited;
        waited.set(Some(waited.get().unwrap_or_default() + time));
    }

    /// A record of this age was replayed.
    pub(crate) fn replayed(&self, age: Duration, retain: Duration) {
        self.tell(Outcome::Replayed);
        self.0.meters.replayed(age, retain);
    }

    /// A claim was taken over.
    pub(crate) fn taken_over(&self) {
        let endpoint = self.0.meters.endpoint.clone();
        tracing::info!(endpoint = &*endpoint, "a claim was taken over");
        counter!(names::TAKEOVERS, "endpoint" => endpoint).increment(1);
    }

    /// A claim was lost while its handler ran.
    pub(crate) fn lost(&self, reason: &'static str) {
        let endpoint = self.0.meters.endpoint.clone();
        counter!(names::LEASES_LOST, "endpoint" => endpoint, "reason" => reason).increment(1);
    }
}

/// Without an outcome nothing has come of it: its client hung up before the request was there.
impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(waited) = self.waited.get() {
            self.meters.waited(waited);
        }
        let Some(outcome) = self.outcome.get() else {
            return;
        };
        self.meters.ended(outcome);
        let outcome = outcome.as_str();
        self.span.record("idempotency.outcome", display(outcome));
        let endpoint = &*self.meters.endpoint;
        tracing::info!(parent: &self.span, endpoint, outcome);
    }
}
