//! The `r2d2` pool of diesel, whose connections block, and the queue in front of it: as many at a time as it has
//! connections, since waiting in it costs a thread.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::r2d2::{ConnectionManager, Pool, PooledConnection, R2D2Connection};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::blocking::{Blocking, Wanted};
use crate::pool::{ConnectionPool, LendError, Loan};
use crate::store::BlockingBackend;

/// How long a thread may wait for nobody.
const GLANCE: Duration = Duration::from_millis(100);

// r2d2 asks `has_broken` when a connection comes back, which is true while a transaction is open, and in a
// panic.
impl<C> ConnectionPool<Blocking<C>> for Pool<ConnectionManager<C>>
where
    C: BlockingBackend + R2D2Connection,
{
    fn lend(&self) -> BoxFuture<'_, Result<Loan<Blocking<C>>, LendError>> {
        async move { Ok(Box::new(Box::new(take(self, None).await?)) as Loan<Blocking<C>>) }.boxed()
    }

    /// One of the pool, since nobody else knows where its connections lead: a pool for lease mode has at least
    /// two. The only one is not given away, because the record has to be written on it.
    fn dedicate(&self) -> BoxFuture<'_, Result<Blocking<C>, LendError>> {
        async move {
            spares_one(self)?;
            take(self, None).await
        }
        .boxed()
    }

    fn shared(self) -> Arc<dyn ConnectionPool<Blocking<C>>> {
        let places = usize::try_from(self.max_size()).unwrap_or(usize::MAX);
        Arc::new(Queued {
            pool: self,
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
        })
    }
}

/// The pool, with as many places in it as it has connections. Who has none waits without a thread, in the order in
/// which they have come.
struct Queued<C: R2D2Connection + Send + 'static> {
    pool: Pool<ConnectionManager<C>>,
    places: Arc<Semaphore>,
}

impl<C> Queued<C>
where
    C: BlockingBackend + R2D2Connection,
{
    async fn take(&self) -> Result<Blocking<C>, LendError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        take(&self.pool, Some(place.map_err(LendError::new)?)).await
    }
}

impl<C> ConnectionPool<Blocking<C>> for Queued<C>
where
    C: BlockingBackend + R2D2Connection,
{
    fn lend(&self) -> BoxFuture<'_, Result<Loan<Blocking<C>>, LendError>> {
        async move { Ok(Box::new(Box::new(self.take().await?)) as Loan<Blocking<C>>) }.boxed()
    }

    /// For as long as it is dedicated, its place is taken as well.
    fn dedicate(&self) -> BoxFuture<'_, Result<Blocking<C>, LendError>> {
        async move {
            spares_one(&self.pool)?;
            self.take().await
        }
        .boxed()
    }
}

fn spares_one<C>(pool: &Pool<ConnectionManager<C>>) -> Result<(), LendError>
where
    C: R2D2Connection + Send + 'static,
{
    match pool.max_size() {
        0 | 1 => Err(LendError::new(
            "a pool of one has no connection to spare: lease mode needs two",
        )),
        _ => Ok(()),
    }
}

/// The connection goes back before its place is free: both are its thread's, which may go on when nobody waits for it
/// any more.
struct Placed<L> {
    loan: L,
    _place: Option<OwnedSemaphorePermit>,
}

impl<L: Deref> Deref for Placed<L> {
    type Target = L::Target;

    fn deref(&self) -> &L::Target {
        &self.loan
    }
}

impl<L: DerefMut> DerefMut for Placed<L> {
    fn deref_mut(&mut self) -> &mut L::Target {
        &mut self.loan
    }
}

async fn take<C>(
    pool: &Pool<ConnectionManager<C>>,
    place: Option<OwnedSemaphorePermit>,
) -> Result<Blocking<C>, LendError>
where
    C: BlockingBackend + R2D2Connection,
{
    let pool = pool.clone();
    Blocking::open(move |wanted| {
        Ok(Placed {
            loan: wait(&pool, wanted)?,
            _place: place,
        })
    })
    .await
}

/// Waits as long as the pool itself would, but not for somebody who has given up.
fn wait<C>(
    pool: &Pool<ConnectionManager<C>>,
    wanted: &Wanted,
) -> Result<PooledConnection<ConnectionManager<C>>, LendError>
where
    C: R2D2Connection + Send + 'static,
{
    let until = Instant::now() + pool.connection_timeout();
    while !wanted.is_over() {
        let left = until.saturating_duration_since(Instant::now());
        match pool.get_timeout(GLANCE.min(left)) {
            Ok(connection) => return Ok(connection),
            Err(error) if left <= GLANCE => return Err(LendError::new(error)),
            Err(_) => {}
        }
    }
    Err(LendError::new("nobody waits for it any more"))
}
