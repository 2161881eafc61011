//! What the servers have in common: how long one may take to answer, and what a failure at the end of a
//! transaction means.
//!
//! No SQL of one backend.

use std::time::Duration;

use crate::policy::Isolation;
use crate::store::CommitError;
use diesel::result::{DatabaseErrorKind, Error};

/// How long a server may take to cancel a statement, and to roll back.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(5);

/// How long it may take to open a transaction, and to look into our own table.
pub(crate) const OPENING: Duration = Duration::from_secs(10);

/// How long it may take to write a record and to commit. After that nobody knows.
pub(crate) const COMMITTING: Duration = Duration::from_secs(30);

pub(super) fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// An error, and whether the server has rolled everything back since.
pub(crate) struct Failure {
    pub(super) error: Error,
    pub(super) rolled_back: bool,
}

impl Failure {
    /// What the failure means for a transaction whose record may meet somebody else's.
    pub(crate) fn judge(self, is_taken: impl FnOnce(&Error) -> bool) -> CommitError {
        match &self.error {
            error if is_taken(error) => CommitError::Taken,
            Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => {
                CommitError::Contended(self.error)
            }
            // A deadlock is among these: diesel-async drops its number.
            Error::DatabaseError(DatabaseErrorKind::Unknown, _) if self.rolled_back => {
                CommitError::Contended(self.error)
            }
            _ if self.rolled_back => CommitError::RolledBack(self.error),
            _ => CommitError::Unknown(self.error),
        }
    }
}
