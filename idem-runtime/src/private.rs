//! The one door for generated code. No logic; nothing here is public API.

use std::any::TypeId;
use std::future::{Ready, ready};
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::{FromRequest, Responder};

pub use crate::__operation as operation;
pub use actix_web::{HttpRequest, HttpResponse};
pub use inventory::submit;

pub use crate::blocking::{Blocking, run as run_blocking};
pub use crate::described::Described;
pub use crate::lease::run as run_leased;
#[cfg(feature = "openapi")]
pub use crate::openapi::{Undescribed, described};
pub use crate::policy::{
    BodyForm, ExpiredKeys, IdempotencyPolicy, InFlight, Isolation, KeyRule, LeasePolicy,
    Registration, Resume, Scope, Store, Unresolved,
};
pub use crate::run::run;

/// A request as it came in: nothing extracted, nothing read.
pub struct Incoming {
    pub(crate) request: HttpRequest,
    pub(crate) payload: Payload,
}

impl FromRequest for Incoming {
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self {
            request: request.clone(),
            payload: payload.take(),
        }))
    }
}

/// What the attribute says, defaults filled in.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    pub handler: &'static str,
    pub scope: Scope,
    pub retain_ms: u64,
    pub store: Store,
    pub in_flight: InFlight,
    pub key: KeyRule,
    pub expired_keys: ExpiredKeys,
    pub fingerprint: BodyForm,
    pub body_limit: usize,
    pub response_limit: usize,
    pub redact: &'static [&'static str],
    pub timeout_ms: u64,
    pub isolation: Option<Isolation>,
    pub retries: u32,
    pub lease: Option<LeasePolicy>,
    pub connection: Option<fn() -> TypeId>,
    pub operation: Option<fn() -> Described>,
}

/// The lease of one endpoint.
#[must_use]
pub const fn lease(length_ms: u64, unresolved: Unresolved, resume: Resume) -> LeasePolicy {
    LeasePolicy {
        length: Duration::from_millis(length_ms),
        unresolved,
        resume,
    }
}

/// The policy of one endpoint.
#[must_use]
pub const fn policy(declared: Declared) -> IdempotencyPolicy {
    IdempotencyPolicy {
        handler: declared.handler,
        scope: declared.scope,
        retain: Duration::from_millis(declared.retain_ms),
        store: declared.store,
        in_flight: declared.in_flight,
        key: declared.key,
        expired_keys: declared.expired_keys,
        fingerprint: declared.fingerprint,
        body_limit: declared.body_limit,
        response_limit: declared.response_limit,
        redact: declared.redact,
        timeout: Duration::from_millis(declared.timeout_ms),
        isolation: declared.isolation,
        retries: declared.retries,
        lease: declared.lease,
        connection: declared.connection,
        operation: declared.operation,
    }
}

/// The handler's return value as a response, while the connection it may borrow is still there.
pub fn respond(result: impl Responder, request: &HttpRequest) -> HttpResponse {
    result.respond_to(request).map_into_boxed_body()
}
