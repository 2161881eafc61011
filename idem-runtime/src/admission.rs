//! How many operations a process works on at once, and an operator's view of that.
//!
//! No decisions about what is refused.

use std::sync::{Arc, Once};

use metrics::gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::telemetry::{OPERATIONS, OPERATIONS_LIMIT};

/// The places for operations of one process.
pub(crate) struct Admission {
    places: Arc<Semaphore>,
    limit: usize,
    announced: Once,
}

/// A place, until it is dropped.
pub(crate) struct Admitted(
    #[allow(dead_code, reason = "held, and given back when dropped")] OwnedSemaphorePermit,
);

impl Admission {
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(limit)),
            limit,
            announced: Once::new(),
        }
    }

    /// A place, if one is free.
    pub(crate) fn enter(&self) -> Option<Admitted> {
        // By now the application has installed its recorder. Several of us in one process are summed up.
        self.announced
            .call_once(|| gauge!(OPERATIONS_LIMIT).increment(self.limit as f64));
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        gauge!(OPERATIONS).increment(1.0);
        Some(Admitted(place))
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        gauge!(OPERATIONS).decrement(1.0);
    }
}
