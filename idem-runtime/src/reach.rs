//! Reaching the store: a connection within a bounded time, and another one where that may help.
//!
//! No SQL, no decisions about what is asked.

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use tokio::time::{Instant, timeout_at};

use crate::operation::{Chain, Operation};
use crate::pool::Lease;
use crate::problem::Problem;
use crate::store::Backend;

/// What is asked first on a connection has done nothing if it failed. It is asked again at once where
/// another connection or another moment may help: after a restart of the database a pool is full of
/// dead connections.
const TRIES: u32 = 5;

/// Until when the store must have been reached, and how often it may still fail.
pub(crate) struct Reach {
    deadline: Instant,
    tries: u32,
}

impl Reach {
    pub(crate) fn new<C: Backend>(operation: &Operation<C>) -> Self {
        Self {
            deadline: deadline(operation),
            tries: TRIES,
        }
    }

    /// The time counts anew, after a wait that was not for the store.
    pub(crate) fn after_waiting<C: Backend>(&mut self, operation: &Operation<C>) {
        self.deadline = deadline(operation);
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Lends a connection and asks it something, which must be harmless to ask again.
    pub(crate) async fn ask<C: Backend, T>(
        &mut self,
        operation: &Operation<C>,
        question: impl AsyncFn(&mut C) -> QueryResult<T>,
    ) -> Result<(Lease<C>, T), Problem> {
        loop {
            let mut connection = self.lend(operation).await?;
            match question(&mut *connection).await {
                Ok(answer) => return Ok((connection, answer)),
                Err(error) if self.tries > 0 && may_pass(&error) => self.tries -= 1,
                Err(error) => {
                    tracing::error!(endpoint = operation.endpoint, %error, "the store failed");
                    return Err(Problem::store_unavailable());
                }
            }
        }
    }

    async fn lend<C: Backend>(&self, operation: &Operation<C>) -> Result<Lease<C>, Problem> {
        match timeout_at(self.deadline, operation.settings.pool.lend()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => {
                let error = Chain(&error);
                tracing::error!(endpoint = operation.endpoint, %error, "no connection");
            }
            Err(_) => tracing::error!(endpoint = operation.endpoint, "no connection became free"),
        }
        Err(Problem::store_unavailable())
    }
}

fn deadline<C: Backend>(operation: &Operation<C>) -> Instant {
    Instant::now() + operation.settings.pool_timeout
}

fn may_pass(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, SerializationFailure, UnableToSendCommand};
    matches!(
        error,
        Error::DatabaseError(
            ClosedConnection | SerializationFailure | UnableToSendCommand,
            _
        )
    )
}
