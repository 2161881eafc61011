//! Does the clock of this machine agree with that of the database.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use diesel::QueryResult;
use idem_runtime::inspect;

use super::findings::Finding;
use crate::catalog::Catalog;
use crate::output::length;

pub(super) const CHECK: &str = "clock";

/// Below this nobody notices.
const NOTICED: Duration = Duration::from_secs(1);

/// From here on receivers refuse signed webhooks.
const REFUSED: Duration = Duration::from_secs(300);

pub(super) async fn check<C: Catalog>(conn: &mut C) -> QueryResult<Finding> {
    let begun = Instant::now();
    let theirs = inspect::clock(conn).await?;
    let round_trip = begun.elapsed();
    let ours = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let skew = ours.abs_diff(theirs).saturating_sub(round_trip);
    let says = format!(
        "this machine's clock and the database's are {} apart",
        length(skew)
    );
    let to_do = "Synchronise both. Leases and retention are the database's and do not suffer; log lines, and the \
                 timestamps of signed webhooks, are the application's. Run this on the machines of the application.";
    Ok(match skew {
        _ if skew >= REFUSED => Finding::failure(CHECK, says, to_do),
        _ if skew >= NOTICED => Finding::warning(CHECK, says, to_do),
        _ => Finding::ok(CHECK, "this machine's clock agrees with the database's"),
    })
}
