//! A step that is database work: one transaction that also writes the step's record, if the claim is
//! still ours.
//!
//! No SQL.

use diesel::QueryResult;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Fault, StepError, Steps, Turn, insist, names};
use crate::lease::holding::Writing;
use crate::operation::Chain;
use crate::pool::Loan;
use crate::store::lease;
use crate::store::{Backend, CommitError};

/// A connection with the step's transaction open on it. If the handler is dropped in the middle of its
/// work, the statement is stopped; the pool closes the connection.
struct Open<C: Backend> {
    connection: Loan<C>,
    canceller: Option<C::Canceller>,
    _writing: Writing,
}

impl<C: Backend> Drop for Open<C> {
    fn drop(&mut self) {
        if let Some(canceller) = self.canceller.take() {
            C::stop(canceller);
        }
    }
}

impl<C: Backend> Steps<C> {
    /// Works in the database, in one transaction that also remembers the result. It commits only if the
    /// claim is still ours: the work of a handler that has lost it is rolled back.
    ///
    /// The transaction is READ COMMITTED (on SQLite, as always, alone), on a connection of the pool that
    /// is held for the step only. An error of the work rolls it back.
    ///
    /// # Errors
    ///
    /// The work's own error; the step may be asked for again. [`StepError`] otherwise.
    pub async fn transaction<T, E>(
        &self,
        name: &str,
        work: impl AsyncFnOnce(&mut C) -> Result<T, E>,
    ) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<StepError>,
    {
        let step = match self.ask(name)? {
            Turn::Finished(value) => return Ok(value),
            Turn::Ours(step) => step,
        };
        let mut open = self.open().await?;
        let places = self
            .0
            .key
            .places
            .enter(name, C::address(&**open.connection));
        let value = match work(&mut **open.connection).await {
            Ok(value) => value,
            Err(error) => {
                open.roll_back().await;
                return Err(error);
            }
        };
        let line = match self.line(name, &value) {
            Ok(line) => line,
            Err(error) => {
                open.roll_back().await;
                return Err(error.into());
            }
        };
        step.write(&line, self.commit(name, &line.text, open))
            .await?;
        if places.has_messages() {
            self.0.settings.bell.ring();
        }
        Ok(value)
    }

    async fn open(&self) -> Result<Open<C>, StepError> {
        let (_, watched) = self.run()?;
        let begin = async |connection: &mut C| C::begin(connection, C::STEP_ISOLATION).await;
        match self.reach().ask(begin).await {
            Ok((connection, ())) => Ok(Open {
                canceller: Some(C::canceller(&connection)),
                connection,
                _writing: watched.writing(),
            }),
            Err(_) => Err(self.blame(Fault::Unavailable, StepError::Unavailable)),
        }
    }

    async fn commit(&self, name: &str, line: &str, mut open: Open<C>) -> Result<(), StepError> {
        let (held, _) = self.run()?;
        let rolled_back = |source| {
            let step = name.to_owned();
            self.fail(name, StepError::RolledBack { step, source })
        };
        // A COMMIT that waits for a synchronous standby succeeds when it is cancelled, with a warning only.
        open.canceller = None;
        let committed = lease::commit_step(&mut **open.connection, &held, line).await;
        drop(open);
        match committed {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.blame(Fault::Lost, StepError::Lost)),
            Err(error @ CommitError::Unknown(_)) => {
                let error = Chain(&error);
                tracing::error!(endpoint = self.0.endpoint, step = name, %error, "not committed");
                self.is_finished(name).await
            }
            Err(error) => Err(rolled_back(error)),
        }
    }

    /// Whether a step is finished whose COMMIT was not answered. If not, it may still become so while
    /// this run goes on, which therefore ends.
    async fn is_finished(&self, name: &str) -> Result<(), StepError> {
        let lease = self.run()?;
        let held = lease.0;
        let steps = async |connection: &mut C| lease::steps(connection, &held).await;
        let found = insist(&self.0.settings, &self.0.endpoint, lease, steps);
        let text = found.await.ok().flatten().unwrap_or_default();
        match names(&text).any(|done| done == name) {
            true => Ok(()),
            false => Err(self.blame(Fault::Unavailable, StepError::Unavailable)),
        }
    }
}

impl<C: Backend> Open<C> {
    /// A connection that cannot roll back is closed by its pool.
    async fn roll_back(mut self) {
        let rolled_back: QueryResult<()> = C::rollback(&mut **self.connection).await;
        self.canceller = None;
        if let Err(error) = rolled_back {
            tracing::warn!(%error, "rollback failed");
        }
    }
}
