//! Running what the application wrote: bounded in time, and a panic in it is an outcome.
//!
//! No decisions about outcomes.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::time::{Instant, timeout_at};

/// How it ended.
pub(crate) enum Ran<T> {
    Finished(T),
    Panicked,
    TimedOut,
}

/// Runs it until then. What is dropped in the middle may leave a statement behind that is running, or
/// on SQLite one that has not begun.
pub(crate) async fn supervise<T>(deadline: Instant, future: impl Future<Output = T>) -> Ran<T> {
    let mut running = Box::pin(AssertUnwindSafe(future).catch_unwind());
    match timeout_at(deadline, running.as_mut()).await {
        Ok(Ok(value)) => Ran::Finished(value),
        Ok(Err(_)) => Ran::Panicked,
        Err(_) => {
            // On a worker of actix diesel-async panics where a statement on SQLite is dropped.
            let _dropped = std::panic::catch_unwind(AssertUnwindSafe(move || drop(running)));
            Ran::TimedOut
        }
    }
}
