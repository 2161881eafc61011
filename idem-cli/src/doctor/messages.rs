//! Messages of the outbox that nobody sends, and such as were given up.

use std::time::Duration;

use diesel::QueryResult;
use idem_runtime::inspect;

use super::findings::Finding;
use crate::catalog::Catalog;
use crate::output::length;

pub(super) const OVERDUE: &str = "overdue";
pub(super) const DEAD: &str = "dead-messages";

/// Many turns of a relay.
const LATE: Duration = Duration::from_secs(600);

pub(super) async fn overdue<C: Catalog>(conn: &mut C) -> QueryResult<Finding> {
    let found = inspect::overdue_messages(conn).await?;
    let oldest = found.oldest.unwrap_or_default();
    let to_do = "No relay runs, or it does not keep up, or the message at the head of an order is not accepted: look \
                 into the log of the relay.";
    Ok(match found.count {
        0 => Finding::ok(OVERDUE, "no message is due and not taken"),
        count if oldest < LATE => {
            Finding::ok(OVERDUE, format!("{count} messages are due, none for long"))
        }
        count => {
            let says = format!(
                "{count} messages are due, the oldest for {}",
                length(oldest)
            );
            Finding::warning(OVERDUE, says, to_do)
        }
    })
}

pub(super) async fn dead<C: Catalog>(conn: &mut C) -> QueryResult<Finding> {
    let to_do = "See why with `idem outbox list`; then `idem outbox retry` or `idem outbox drop`.";
    let found = inspect::dead_messages(conn).await?;
    Ok(match found.count {
        0 => Finding::ok(DEAD, "no message was given up"),
        count => Finding::warning(DEAD, format!("{count} messages were given up"), to_do),
    })
}
