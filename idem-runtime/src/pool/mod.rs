//! Where connections come from: the pools we take, and how to set up their connections.
//!
//! No SQL of the store, no decisions.

#[cfg(feature = "bb8")]
mod bb8;
#[cfg(feature = "deadpool")]
mod deadpool;
mod setup;

use std::fmt;
use std::ops::DerefMut;

use futures_util::future::BoxFuture;

#[cfg(feature = "postgres")]
pub use setup::postgres_config;
pub(crate) use setup::prepared;
#[cfg(feature = "sqlite")]
pub use setup::sqlite_config;

/// A connection on loan; dropping it gives it back, or closes it if a transaction is open on it.
pub type Lease<C> = Box<dyn DerefMut<Target = C> + Send>;

/// A pool of diesel-async connections.
///
/// Implemented for the `bb8` and `deadpool` pools of diesel-async, behind features of the same names.
pub trait ConnectionPool<C>: Send + Sync + 'static {
    /// Waits for a connection.
    ///
    /// Whoever implements this must close a connection that comes back with an open transaction,
    /// at once and not at its next use: an open transaction holds locks.
    ///
    /// # Errors
    ///
    /// Whatever keeps the pool from lending a connection; the request gets 503.
    fn lend(&self) -> BoxFuture<'_, Result<Lease<C>, LendError>>;
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
