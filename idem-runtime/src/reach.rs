//! Reaching the store: a connection within a bounded time, and another one where that may help.
//!
//! No SQL, no decisions about what is asked.

use std::time::Duration;

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use tokio::time::{Instant, sleep, timeout_at};

use crate::idempotency::Settings;
use crate::operation::Chain;
use crate::pool::Loan;
use crate::problem::Problem;
use crate::store::Backend;
use crate::transaction::is_conflict;

/// What is asked first on a connection has done nothing if it failed. It is asked again at once where
/// another connection or another moment may help: after a restart of the database a pool is full of
/// dead connections.
const TRIES: u32 = 5;

/// The shortest one, before another try where others need a moment to end.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// Until when the store must have been reached, and how often it may still fail.
pub(crate) struct Reach<'a, C> {
    settings: &'a Settings<C>,
    endpoint: &'a str,
    deadline: Instant,
    tries: u32,
}

/// The store was not reached, or did not answer. The log says why.
#[derive(Debug, thiserror::Error)]
#[error("the store was not reached")]
pub(crate) struct Unreached;

impl From<Unreached> for Problem {
    fn from(_: Unreached) -> Self {
        Self::store_unavailable()
    }
}

impl<'a, C: Backend> Reach<'a, C> {
    pub(crate) fn new(settings: &'a Settings<C>, endpoint: &'a str) -> Self {
        Self {
            settings,
            endpoint,
            deadline: Instant::now() + settings.pool_timeout,
            tries: TRIES,
        }
    }

    /// The time counts anew, after a wait that was not for the store.
    pub(crate) fn after_waiting(&mut self) {
        self.deadline = Instant::now() + self.settings.pool_timeout;
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Lends a connection and asks it something, which must be harmless to ask again.
    pub(crate) async fn ask<T>(
        &mut self,
        question: impl AsyncFn(&mut C) -> QueryResult<T>,
    ) -> Result<(Loan<C>, T), Unreached> {
        loop {
            let mut connection = self.lend().await?;
            match question(&mut *connection).await {
                Ok(answer) => return Ok((connection, answer)),
                Err(error) if self.tries > 0 && may_pass(&error) => {
                    drop(connection);
                    self.tries -= 1;
                    if is_conflict(&error) {
                        // The others need a moment to end; more of it each time.
                        sleep(PAUSE * (TRIES - self.tries)).await;
                    }
                }
                Err(error) => {
                    tracing::error!(endpoint = self.endpoint, %error, "the store failed");
                    return Err(Unreached);
                }
            }
        }
    }

    /// Lends a connection.
    pub(crate) async fn lend(&self) -> Result<Loan<C>, Unreached> {
        match timeout_at(self.deadline, self.settings.pool.lend()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => {
                let error = Chain(&error);
                tracing::error!(endpoint = self.endpoint, %error, "no connection");
            }
            Err(_) => tracing::error!(endpoint = self.endpoint, "no connection became free"),
        }
        Err(Unreached)
    }
}

fn may_pass(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, UnableToSendCommand};
    let is_closed = matches!(
        error,
        Error::DatabaseError(ClosedConnection | UnableToSendCommand, _)
    );
    is_closed || is_conflict(error)
}
