//! For tests of applications: faults that cannot be made otherwise.

use actix_web::{HttpMessage, HttpRequest};

use crate::lease::Switch;

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
