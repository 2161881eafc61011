//! The `r2d2` pool of diesel, whose connections block.

use std::future::ready;
use std::time::{Duration, Instant};

use diesel::r2d2::{ConnectionManager, Pool, PooledConnection, R2D2Connection};
use futures_util::future::{BoxFuture, FutureExt};

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
        async move { Ok(Box::new(Box::new(take(self).await?)) as Loan<Blocking<C>>) }.boxed()
    }

    /// One of the pool, since nobody else knows where its connections lead: a pool for lease mode has at least
    /// two. The only one is not given away, because the record has to be written on it.
    fn dedicate(&self) -> BoxFuture<'_, Result<Blocking<C>, LendError>> {
        if self.max_size() < 2 {
            let only =
                LendError::new("a pool of one has no connection to spare: lease mode needs two");
            return ready(Err(only)).boxed();
        }
        take(self).boxed()
    }

    fn places(&self) -> Option<usize> {
        usize::try_from(self.max_size()).ok()
    }
}

async fn take<C>(pool: &Pool<ConnectionManager<C>>) -> Result<Blocking<C>, LendError>
where
    C: BlockingBackend + R2D2Connection,
{
    let pool = pool.clone();
    Blocking::open(move |wanted| wait(&pool, wanted)).await
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
