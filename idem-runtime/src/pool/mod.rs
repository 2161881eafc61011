//! Where connections come from: the pools we take, and how to set up their connections.
//!
//! No SQL of the store, no decisions.

#[cfg(feature = "bb8")]
mod bb8;
#[cfg(all(
    any(feature = "postgres", feature = "mysql", feature = "sqlite"),
    any(feature = "bb8", feature = "deadpool")
))]
mod config;
#[cfg(all(
    feature = "r2d2",
    any(
        feature = "postgres-blocking",
        feature = "mysql-blocking",
        feature = "sqlite"
    )
))]
mod customizer;
#[cfg(feature = "deadpool")]
mod deadpool;
#[cfg(feature = "r2d2")]
mod r2d2;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub(crate) mod setup;

use std::fmt;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use futures_util::future::BoxFuture;

#[cfg(all(feature = "mysql", any(feature = "bb8", feature = "deadpool")))]
pub use config::mysql_config;
#[cfg(all(feature = "postgres", any(feature = "bb8", feature = "deadpool")))]
pub use config::postgres_config;
#[cfg(all(feature = "sqlite", any(feature = "bb8", feature = "deadpool")))]
pub use config::sqlite_config;
#[cfg(feature = "mysql-blocking")]
pub use customizer::mysql_customizer;
#[cfg(feature = "postgres-blocking")]
pub use customizer::postgres_customizer;
#[cfg(all(feature = "sqlite", feature = "r2d2"))]
pub use customizer::sqlite_customizer;
#[cfg(feature = "mysql")]
pub use setup::set_up_mysql;
#[cfg(feature = "mysql-blocking")]
pub use setup::set_up_mysql_blocking;
#[cfg(feature = "postgres")]
pub use setup::set_up_postgres;
#[cfg(feature = "postgres-blocking")]
pub use setup::set_up_postgres_blocking;
#[cfg(feature = "sqlite")]
pub use setup::{set_up_sqlite, set_up_sqlite_blocking};

/// A connection on loan; dropping it gives it back, or closes it if a transaction is open on it.
pub type Loan<C> = Box<dyn DerefMut<Target = C> + Send>;

/// A pool of connections.
///
/// Implemented for the `bb8` and `deadpool` pools of diesel-async and for the `r2d2` pool of diesel, behind
/// features of the same names.
pub trait ConnectionPool<C>: Send + Sync + 'static {
    /// Waits for a connection.
    ///
    /// Whoever implements this must close a connection that comes back with an open transaction,
    /// at once and not at its next use: an open transaction holds locks. One that comes back while
    /// the thread is panicking must be closed without being looked at.
    ///
    /// # Errors
    ///
    /// Whatever keeps the pool from lending a connection; the request gets 503.
    fn lend(&self) -> BoxFuture<'_, Result<Loan<C>, LendError>>;

    /// Makes a connection outside of the pool and its number, driven by the runtime that waits for
    /// it. Lease mode renews its claims on it: one that a worker's own thread drives would stand still
    /// with a handler that blocks that thread.
    ///
    /// # Errors
    ///
    /// Whatever keeps the database from being reached.
    fn dedicate(&self) -> BoxFuture<'_, Result<C, LendError>>;

    /// The pool as it is used by all of ours: in front of one whose waiters keep a thread waiting, like `r2d2`'s, as
    /// many wait in it as it has connections, and more wait without a thread, in the order in which they have come.
    fn shared(self) -> Arc<dyn ConnectionPool<C>>
    where
        Self: Sized,
    {
        Arc::new(self)
    }
}

/// Why a pool could not lend a connection.
#[derive(Debug, thiserror::Error)]
#[error("no connection from the pool")]
pub struct LendError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl LendError {
    /// Wraps the pool's own error.
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

impl<C> fmt::Debug for dyn ConnectionPool<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionPool")
    }
}

/// Closes a connection that nobody may look at any more: on SQLite diesel-async panics if a statement
/// is still winding down on its blocking thread.
///
/// Both pools take a connection that comes back in a panic for broken, so this makes one, without
/// its message. Where a panic ends the process, the pool has to look.
pub(crate) fn discard<C>(loan: Loan<C>) {
    if cfg!(panic = "unwind") {
        let _unwound = catch_unwind(AssertUnwindSafe(move || {
            let _loan = loan;
            resume_unwind(Box::new(()));
        }));
    }
}
