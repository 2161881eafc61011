//! For tests of applications: the proof that an endpoint can be retried safely, and faults that cannot be made
//! otherwise.

mod answer;
mod course;
mod door;
mod driving;
mod proof;
mod report;
mod rules;

use actix_web::{HttpMessage, HttpRequest};

use uuid::Uuid;

use crate::UnresolvedOperation;
use crate::key::IdempotencyKey;
use crate::lease::Switch;
use crate::outbox::{Message, OutboxMessage};

pub(crate) use door::Door;
pub use proof::Proof;
pub use report::{Report, Rule, Verdict};

/// Stops the heartbeat of the operation that this request is for: its lease is no longer renewed, and
/// its handler is no longer cancelled before the lease runs out. A test sees with this what a handler
/// meets that has outlived its lease.
///
/// Does nothing outside of a running handler in lease mode.
pub fn stop_heartbeat(request: &HttpRequest) {
    if let Some(switch) = request.extensions().get::<Switch>() {
        switch.off();
    }
}

/// An unresolved operation for the test of a [`Reconciler`](crate::Reconciler): the client's key in a
/// scope as it stands in the table, such as `account:7`, at an endpoint such as `POST /orders`. It has no
/// finished step and no kept request, and there is no such row.
#[must_use]
pub fn unresolved_operation(endpoint: &str, scope: &str, key: &str) -> UnresolvedOperation {
    UnresolvedOperation::of_nothing(endpoint, IdempotencyKey::new(scope, key))
}

/// What a relay hands a publisher at the first attempt, for the test of a [`Publisher`](crate::outbox::Publisher). No
/// such message is queued.
#[must_use]
pub fn outbox_message(id: Uuid, message: Message) -> OutboxMessage {
    OutboxMessage::first(id, message)
}
