//! Operations of which nobody knows how they ended, and rows that nobody can settle.

use std::time::Duration;

use diesel::QueryResult;
use idem_runtime::inspect::{self, OperationState};

use super::findings::Finding;
use crate::catalog::Catalog;
use crate::output::length;

pub(super) const CHECK: &str = "unresolved";
pub(super) const STUCK: &str = "stuck";

/// Workers and retries have had their time.
const LATE: Duration = Duration::from_secs(600);

/// A day: clients have given up.
const LOST: Duration = Duration::from_secs(86_400);

pub(super) async fn check<C: Catalog>(conn: &mut C) -> QueryResult<Finding> {
    let found = inspect::count(conn, OperationState::Unresolved).await?;
    let oldest = found.oldest.unwrap_or_default();
    let says = match found.count {
        0 => "no operation is unresolved".to_owned(),
        count => format!(
            "{count} unresolved operations, the oldest for {}",
            length(oldest)
        ),
    };
    let to_do = "Look at them with `idem keys list --state unresolved`; find out how they ended, and say it with \
                 `idem keys settle` or `idem keys release`. A reconciler does that by itself.";
    Ok(match oldest {
        _ if oldest >= LOST => Finding::failure(CHECK, says, to_do),
        _ if oldest >= LATE => Finding::warning(CHECK, says, to_do),
        _ => Finding::ok(CHECK, says),
    })
}

pub(super) async fn stuck<C: Catalog>(conn: &mut C) -> QueryResult<Finding> {
    let to_do = "The runtime writes no such row: something else did, or changed it. Its key is locked for good. Look at \
                 them with `idem keys list --state stuck`, and delete each by hand once you know how it ended.";
    let found = inspect::count(conn, OperationState::Stuck).await?;
    Ok(match found.count {
        0 => Finding::ok(STUCK, "no row is without a record and without an owner"),
        count => {
            let says = format!("{count} rows without a record and without an owner");
            Finding::failure(STUCK, says, to_do)
        }
    })
}
