//! The `bb8` pool of diesel-async.

use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::bb8::Pool;
use futures_util::future::{BoxFuture, FutureExt};

use crate::pool::{ConnectionPool, LendError, Loan};

// bb8 asks `has_broken` when a connection comes back, which is true while a transaction is open.
impl<C> ConnectionPool<C> for Pool<C>
where
    C: Send + 'static,
    AsyncDieselConnectionManager<C>: ::bb8::ManageConnection<Connection = C>,
    <AsyncDieselConnectionManager<C> as ::bb8::ManageConnection>::Error:
        std::error::Error + Send + Sync,
{
    fn lend(&self) -> BoxFuture<'_, Result<Loan<C>, LendError>> {
        async move {
            match self.get_owned().await {
                Ok(connection) => Ok(Box::new(connection) as Loan<C>),
                Err(error) => Err(LendError::new(error)),
            }
        }
        .boxed()
    }

    fn dedicate(&self) -> BoxFuture<'_, Result<C, LendError>> {
        async move { self.dedicated_connection().await.map_err(LendError::new) }.boxed()
    }
}
