//! The inbox, for consumers: a message that comes again is not worked on again.
//!
//! No SQL.

use std::time::Duration;

use diesel::QueryResult;
use diesel::result::Error;
use uuid::Uuid;

use crate::store::Backend;
use crate::store::inbox;

/// Does this work for a message, unless this consumer has already worked on it: `None` then.
///
/// The message is marked in the open transaction, which has to contain the work: either both are
/// committed, or neither is and the message may come again. Two that work on the same message at the same
/// time wait for each other. The table is that of [`migrations::inbox_postgres`].
///
/// ```no_run
/// # #[cfg(feature = "postgres")]
/// # mod example {
/// use diesel_async::{AsyncConnection, AsyncPgConnection};
/// use idem_runtime::inbox;
/// # use diesel::result::Error;
/// # use uuid::Uuid;
/// # async fn ship(_: &mut AsyncPgConnection) -> Result<(), Error> { Ok(()) }
///
/// async fn received(conn: &mut AsyncPgConnection, message_id: Uuid) -> Result<(), Error> {
///     let work = async |conn: &mut AsyncPgConnection| {
///         inbox::once(conn, "shipping", message_id, async |conn| ship(conn).await).await
///     };
///     conn.transaction(work).await?;
///     Ok(()) // and now acknowledge it
/// }
/// # }
/// ```
///
/// # Errors
///
/// The work's own error, and the database's: the transaction has to be rolled back. `NotInTransaction` where
/// none is open.
///
/// [`migrations::inbox_postgres`]: crate::migrations::inbox_postgres
pub async fn once<C, T, E>(
    conn: &mut C,
    consumer: &str,
    message_id: Uuid,
    work: impl AsyncFnOnce(&mut C) -> Result<T, E>,
) -> Result<Option<T>, E>
where
    C: Backend,
    E: From<Error>,
{
    if !inbox::mark(conn, consumer, message_id).await? {
        return Ok(None);
    }
    work(conn).await.map(Some)
}

/// Forgets at most `limit` messages that were worked on longer ago than `kept`, and says how many. Keep them
/// for longer than a message may come again.
///
/// # Errors
///
/// The database's error.
pub async fn prune<C: Backend>(conn: &mut C, kept: Duration, limit: u32) -> QueryResult<usize> {
    inbox::prune(conn, kept, limit).await
}
