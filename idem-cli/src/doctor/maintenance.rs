//! Does somebody delete expired records.

use std::time::Duration;

use diesel::QueryResult;
use idem_runtime::inspect::{self, OperationState};

use super::findings::Finding;
use crate::catalog::Catalog;
use crate::output::length;

pub(super) const CHECK: &str = "maintenance";

/// Many turns of a maintenance worker, and a usual interval of a job.
const LATE: Duration = Duration::from_secs(3_600);

pub(super) async fn check<C: Catalog>(conn: &mut C) -> QueryResult<Finding> {
    let expired = inspect::count(conn, OperationState::Expired).await?;
    let oldest = expired.oldest.unwrap_or_default();
    let to_do = "Start `Idempotency::spawn_maintenance` in the application, or run `idem prune --yes` from a timer. \
                 Expired records do no harm but grow the table.";
    Ok(match expired.count {
        0 => Finding::ok(CHECK, "no record has expired and is still there"),
        count if oldest < LATE => {
            Finding::ok(CHECK, format!("{count} expired records, none for an hour"))
        }
        count => {
            let says = format!(
                "{count} expired records, the oldest for {}: nobody prunes",
                length(oldest)
            );
            Finding::warning(CHECK, says, to_do)
        }
    })
}
