//! Opening and ending the transaction of an operation, and what dropping in between does: diesel's
//! count of open transactions is raised before BEGIN is sent and lowered after the answer to its
//! end, so that a connection dropped in between never looks clean to its pool.
//!
//! No table names. All use of diesel's hidden transaction state is in this folder.

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod server;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::time::Duration;

use diesel::QueryResult;
use diesel::connection::{TransactionDepthChange, TransactionManagerStatus};
use diesel::result::{DatabaseErrorKind, Error};
use tokio::time::timeout;

/// Counts the transaction that is about to be opened.
pub(crate) fn opening(status: &mut TransactionManagerStatus) -> QueryResult<()> {
    let state = status.transaction_state()?;
    if state.transaction_depth().is_some() {
        return Err(Error::AlreadyInTransaction);
    }
    state.change_transaction_depth(TransactionDepthChange::IncreaseDepth)
}

/// Refuses where no transaction is open.
pub(crate) fn is_open(status: &TransactionManagerStatus) -> QueryResult<()> {
    match status.transaction_depth()? {
        Some(_) => Ok(()),
        None => Err(Error::NotInTransaction),
    }
}

/// Refuses to commit while a transaction of the handler's own is still open inside ours.
pub(crate) fn only_ours(status: &mut TransactionManagerStatus) -> QueryResult<()> {
    match status.transaction_depth()?.map(|depth| depth.get()) {
        Some(1) => Ok(()),
        Some(_) => Err(Error::AlreadyInTransaction),
        None => Err(Error::NotInTransaction),
    }
}

/// Counts no transaction any more: the outermost one has ended, whatever was open inside it.
pub(crate) fn ended(status: &mut TransactionManagerStatus) {
    *status = TransactionManagerStatus::default();
}

/// Gives a server up that does not answer. Whoever calls this has counted the transaction as open, or
/// gives the connection up as well.
pub(crate) async fn answered<T>(
    limit: Duration,
    answer: impl Future<Output = QueryResult<T>>,
) -> QueryResult<T> {
    timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(no_answer()))
}

pub(super) fn no_answer() -> Error {
    let message = "the database did not answer in time".to_owned();
    Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message))
}

/// How a server says that a statement met another transaction (PostgreSQL 40P01; MySQL 1213, 1205; MariaDB 1020; some
/// Galera nodes, in their own words for 1213).
const CONFLICTS: [&str; 5] = [
    "deadlock detected",
    "Deadlock found when trying to get",
    "Lock wait timeout exceeded",
    "Record has changed since last read",
    "WSREP detected deadlock/conflict",
];

/// Whether a statement was refused because of other transactions, so that another run may succeed.
pub(crate) fn is_conflict(error: &Error) -> bool {
    match error {
        Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => true,
        Error::DatabaseError(DatabaseErrorKind::Unknown, information) => {
            let message = information.message();
            CONFLICTS
                .iter()
                .any(|conflict| message.starts_with(conflict))
        }
        _ => false,
    }
}
