//! What works in the background, on every replica of the program; the relay is in `outlet.rs`. No logic.

use std::time::Duration;

use idem_runtime::{Backend, Idempotency};

use crate::courier::Courier;
use crate::shipments::Dispatcher;

/// How often they look for work. Short, so that it can be tried out; the default is five seconds.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// Starts them. They run for as long as the program does.
pub(crate) fn start<C: Backend>(idempotency: &Idempotency<C>, courier: &Courier) {
    idempotency.spawn_maintenance();
    idempotency.spawn_reconciler(Dispatcher(courier.clone()));
}
