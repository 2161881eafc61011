//! As many at a time as a pool has connections: where waiting for one costs a thread, the others wait here.
//!
//! No pool of anybody's.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::pool::{ConnectionPool, LendError, Loan};

/// A pool, and its places.
struct Bounded<C> {
    pool: Arc<dyn ConnectionPool<C>>,
    places: Arc<Semaphore>,
}

/// The pool, with a bound on those who wait for it if it asks for one.
pub(crate) fn bounded<C: Send + 'static>(
    pool: Arc<dyn ConnectionPool<C>>,
) -> Arc<dyn ConnectionPool<C>> {
    match pool.places() {
        Some(places) => Arc::new(Bounded {
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            pool,
        }),
        None => pool,
    }
}

impl<C: Send + 'static> ConnectionPool<C> for Bounded<C> {
    fn lend(&self) -> BoxFuture<'_, Result<Loan<C>, LendError>> {
        async move {
            let place = Arc::clone(&self.places).acquire_owned().await;
            let place = place.map_err(LendError::new)?;
            let loan = self.pool.lend().await?;
            Ok(Box::new(Placed {
                loan,
                _place: place,
            }) as Loan<C>)
        }
        .boxed()
    }

    fn dedicate(&self) -> BoxFuture<'_, Result<C, LendError>> {
        self.pool.dedicate()
    }
}

/// The connection goes back before its place is free.
struct Placed<C> {
    loan: Loan<C>,
    _place: OwnedSemaphorePermit,
}

impl<C> Deref for Placed<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.loan
    }
}

impl<C> DerefMut for Placed<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.loan
    }
}
