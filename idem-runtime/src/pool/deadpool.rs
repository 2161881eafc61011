//! The `deadpool` pool of diesel-async.

use std::ops::{Deref, DerefMut};

use ::deadpool::managed::{Manager, Object};
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::deadpool::Pool;
use diesel_async::{AsyncConnection, TransactionManager};
use futures_util::future::{BoxFuture, FutureExt};

use crate::pool::{ConnectionPool, LendError, Loan};

/// deadpool looks at a connection only before it lends it again; an open transaction must not
/// wait for that.
struct Guarded<C>(Option<Object<AsyncDieselConnectionManager<C>>>)
where
    C: AsyncConnection,
    AsyncDieselConnectionManager<C>: Manager<Type = C>;

impl<C> Drop for Guarded<C>
where
    C: AsyncConnection,
    AsyncDieselConnectionManager<C>: Manager<Type = C>,
{
    fn drop(&mut self) {
        if let Some(mut connection) = self.0.take() {
            let broken = std::thread::panicking()
                || C::TransactionManager::is_broken_transaction_manager(&mut connection);
            if broken {
                drop(Object::take(connection));
            }
        }
    }
}

impl<C> Deref for Guarded<C>
where
    C: AsyncConnection,
    AsyncDieselConnectionManager<C>: Manager<Type = C>,
{
    type Target = C;

    fn deref(&self) -> &C {
        match &self.0 {
            Some(connection) => connection,
            None => unreachable!("only drop takes the connection"),
        }
    }
}

impl<C> DerefMut for Guarded<C>
where
    C: AsyncConnection,
    AsyncDieselConnectionManager<C>: Manager<Type = C>,
{
    fn deref_mut(&mut self) -> &mut C {
        match &mut self.0 {
            Some(connection) => connection,
            None => unreachable!("only drop takes the connection"),
        }
    }
}

impl<C> ConnectionPool<C> for Pool<C>
where
    C: AsyncConnection + 'static,
    AsyncDieselConnectionManager<C>: Manager<Type = C> + Send + Sync,
    <AsyncDieselConnectionManager<C> as Manager>::Error: std::error::Error + Send + Sync + 'static,
{
    fn lend(&self) -> BoxFuture<'_, Result<Loan<C>, LendError>> {
        async move {
            match self.get().await {
                Ok(connection) => Ok(Box::new(Guarded(Some(connection))) as Loan<C>),
                Err(error) => Err(LendError::new(error)),
            }
        }
        .boxed()
    }

    fn dedicate(&self) -> BoxFuture<'_, Result<C, LendError>> {
        async move { self.manager().create().await.map_err(LendError::new) }.boxed()
    }
}
