//! Asking a store that is away again, for as long as a lease lasts: what a handler has done outside
//! should not be lost because the store was restarted.
//!
//! No SQL, no decisions about what is asked.

use std::time::Duration;

use diesel::QueryResult;
use tokio::time::{Instant, sleep};

use super::holding::{Watched, Word};
use crate::idempotency::Settings;
use crate::reach::{Reach, Unreached};
use crate::store::Backend;
use crate::store::lease::Held;

/// How long a store that is away is left alone before it is asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Asks the store again and again, for as long as the lease is kept, and at most as long as a lease.
/// Harmless to ask again.
pub(super) async fn insist<C: Backend, T>(
    settings: &Settings<C>,
    endpoint: &str,
    (held, watched): (Held, Watched),
    question: impl AsyncFn(&mut C) -> QueryResult<T>,
) -> Result<T, Unreached> {
    let until = Instant::now() + held.length;
    let mut pause = FIRST_PAUSE;
    loop {
        match Reach::new(settings, endpoint).ask(&question).await {
            Ok((_, answer)) => return Ok(answer),
            Err(unreached) if watched.word() != Word::Kept || Instant::now() >= until => {
                return Err(unreached);
            }
            Err(_) => sleep(pause).await,
        }
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
