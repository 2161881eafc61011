//! Backends whose connections block: what each does, phase by phase, on a thread that may; and how a phase
//! gets there. A backend's SQL and its sequence are in its own files.
//!
//! No SQL, no threads.

use std::future::Future;
use std::time::Duration;

use diesel::QueryResult;
use uuid::Uuid;

use super::lease::{Leases, Pending};
use super::outbox::Queue;
use super::prune::{Pruned, Reached};
use super::questions::questions;
use super::statement::Statement;
use super::{Backend, Claim, Claimed, CommitError, NewRecord, Record, Store};
use crate::blocking::Blocking;
use crate::policy::Isolation;
use crate::transaction::answered;

macro_rules! asked {
    ($($name:ident($query:ty) -> $row:ty;)+) => {$(
        fn $name(&mut self, query: $query) -> QueryResult<Vec<$row>>;
    )+};
}

/// The connection of a backend that a blocking handler can work on: `PgConnection`, `MysqlConnection` and
/// `SqliteConnection`.
///
/// Nobody else can implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a connection that a blocking handler can work on",
    note = "a handler that is not `async` takes `&mut PgConnection` (feature `postgres-blocking`), \
            `&mut MysqlConnection` (feature `mysql-blocking`) or `&mut SqliteConnection` (features `sqlite` and \
            `r2d2`) of diesel itself",
    note = "on a connection of diesel-async, such as `AsyncPgConnection`, write `async fn`"
)]
pub trait BlockingBackend: Phases {}

/// What a backend does on the thread of its connection; each as in [`Store`], [`Leases`] or [`Queue`].
pub trait Phases: Send + Sized + 'static {
    const ISOLATION: bool;

    const ONE_WRITER: bool;

    const STEP_ISOLATION: Option<Isolation>;

    const TELLS: bool;

    const CHANGES_AT_ONCE: bool;

    /// How long it may take to open a transaction, and to look into our own tables.
    const OPENING: Duration;

    /// How long it may take to write a record and to commit. After that nobody knows.
    const COMMITTING: Duration;

    fn is_set_up() -> bool;

    fn begin(&mut self, isolation: Option<Isolation>) -> QueryResult<()>;

    fn claim(&mut self, claim: &Claim, isolation: Option<Isolation>) -> QueryResult<Claimed>;

    fn look(&mut self, claim: &Claim) -> QueryResult<Option<Record>>;

    fn record(&mut self, record: &NewRecord) -> Result<(), CommitError>;

    fn remember(&mut self, record: &NewRecord) -> Result<(), CommitError>;

    fn commit(&mut self) -> Result<(), CommitError>;

    fn rollback(&mut self) -> QueryResult<()>;

    /// Ends a transaction whose handler was dropped, so that nothing that still waits for its turn on this
    /// connection can commit by itself.
    fn abandon(&mut self) -> QueryResult<()>;

    /// In as many hops as it takes.
    fn prune<H: Hop<Connection = Self>>(
        connection: &mut H,
        since: Option<Reached>,
        limit: u32,
    ) -> impl Future<Output = QueryResult<Pruned>>;

    fn pend(&mut self, pending: Pending) -> Result<(), CommitError>;

    fn read_committed(&mut self) -> QueryResult<()>;

    fn execute(&mut self, statement: Statement) -> QueryResult<usize>;

    fn conclude(&mut self, statement: Statement) -> Result<bool, CommitError>;

    fn queue(&mut self, lock: Option<i64>, insert: Statement) -> QueryResult<usize>;

    fn requeue(&mut self, lock: Option<i64>, id: Uuid) -> QueryResult<usize>;

    fn wake(&mut self) -> QueryResult<()>;

    questions! { leases asked }
    questions! { queue asked }
}

/// Brings a phase to the thread of a connection.
pub trait Hop: Send + Sized + 'static {
    type Connection: Phases;

    /// As in [`Store`].
    const NEEDS_UNWINDING: bool;

    fn hop<R: Send + 'static>(
        &mut self,
        phase: impl FnOnce(&mut Self::Connection) -> QueryResult<R> + Send + 'static,
    ) -> impl Future<Output = QueryResult<R>>;

    /// Whether the connection was given up together with the handler that was dropped on it.
    fn is_gone(&self) -> bool;

    /// As in [`Store`].
    fn address(&self) -> usize;
}

impl<C: BlockingBackend> Hop for Blocking<C> {
    type Connection = C;

    const NEEDS_UNWINDING: bool = false;

    async fn hop<R: Send + 'static>(
        &mut self,
        phase: impl FnOnce(&mut C) -> QueryResult<R> + Send + 'static,
    ) -> QueryResult<R> {
        self.on_thread(phase).await?
    }

    fn is_gone(&self) -> bool {
        Blocking::is_gone(self)
    }

    fn address(&self) -> usize {
        Blocking::address(self)
    }
}

impl<C: BlockingBackend> Backend for Blocking<C> {}

async fn opening<H: Hop, R: Send + 'static>(
    connection: &mut H,
    phase: impl FnOnce(&mut H::Connection) -> QueryResult<R> + Send + 'static,
) -> QueryResult<R> {
    answered(H::Connection::OPENING, connection.hop(phase)).await
}

async fn ending<H: Hop, R: Send + 'static>(
    connection: &mut H,
    phase: impl FnOnce(&mut H::Connection) -> Result<R, CommitError> + Send + 'static,
) -> Result<R, CommitError> {
    let hop = connection.hop(move |connection| Ok(phase(connection)));
    let answer = answered(H::Connection::COMMITTING, hop).await;
    answer.map_err(CommitError::Unknown)?
}

impl<H: Hop> Store for H {
    type Canceller = ();

    const ISOLATION: bool = H::Connection::ISOLATION;

    const ONE_WRITER: bool = H::Connection::ONE_WRITER;

    const STEP_ISOLATION: Option<Isolation> = H::Connection::STEP_ISOLATION;

    const NEEDS_UNWINDING: bool = H::NEEDS_UNWINDING;

    fn is_set_up() -> bool {
        H::Connection::is_set_up()
    }

    fn address(connection: &Self) -> usize {
        Hop::address(connection)
    }

    async fn begin(connection: &mut Self, isolation: Option<Isolation>) -> QueryResult<()> {
        opening(connection, move |connection| connection.begin(isolation)).await
    }

    async fn claim(
        connection: &mut Self,
        claim: &Claim,
        isolation: Option<Isolation>,
    ) -> QueryResult<Claimed> {
        let claim = claim.clone();
        opening(connection, move |connection| {
            connection.claim(&claim, isolation)
        })
        .await
    }

    async fn look(connection: &mut Self, claim: &Claim) -> QueryResult<Option<Record>> {
        let claim = claim.clone();
        opening(connection, move |connection| connection.look(&claim)).await
    }

    async fn record(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        ending(connection, move |connection| connection.record(&record)).await
    }

    async fn remember(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        ending(connection, move |connection| connection.remember(&record)).await
    }

    async fn commit(connection: &mut Self) -> Result<(), CommitError> {
        ending(connection, Phases::commit).await
    }

    async fn rollback(connection: &mut Self) -> QueryResult<()> {
        opening(connection, Phases::rollback).await
    }

    fn canceller(_: &Self) {}

    /// A statement cannot be stopped here: where the connection is still ours, this waits for its end.
    async fn abandon(connection: &mut Self, (): ()) {
        if connection.is_gone() {
            return;
        }
        if let Err(error) = connection.hop(Phases::abandon).await {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }

    async fn prune(
        connection: &mut Self,
        since: Option<Reached>,
        limit: u32,
    ) -> QueryResult<Pruned> {
        H::Connection::prune(connection, since, limit).await
    }
}

macro_rules! brought {
    ($($name:ident($query:ty) -> $row:ty;)+) => {$(
        async fn $name(connection: &mut Self, query: $query) -> QueryResult<Vec<$row>> {
            opening(connection, move |connection| connection.$name(query)).await
        }
    )+};
}

impl<H: Hop> Leases for H {
    const CHANGES_AT_ONCE: bool = H::Connection::CHANGES_AT_ONCE;

    async fn pend(connection: &mut Self, pending: Pending) -> Result<(), CommitError> {
        ending(connection, move |connection| connection.pend(pending)).await
    }

    async fn read_committed(connection: &mut Self) -> QueryResult<()> {
        opening(connection, Phases::read_committed).await
    }

    async fn execute(connection: &mut Self, statement: Statement) -> QueryResult<usize> {
        opening(connection, move |connection| connection.execute(statement)).await
    }

    async fn conclude(connection: &mut Self, statement: Statement) -> Result<bool, CommitError> {
        ending(connection, move |connection| connection.conclude(statement)).await
    }

    questions! { leases brought }

    fn stop((): ()) {}
}

/// A relay on such a connection looks for messages at its intervals.
impl<H: Hop> Queue for H {
    const LISTENS: bool = false;

    const TELLS: bool = H::Connection::TELLS;

    /// The lock may be waited for as long as the handler may take.
    async fn queue(
        connection: &mut Self,
        lock: Option<i64>,
        insert: Statement,
    ) -> QueryResult<usize> {
        connection
            .hop(move |connection| connection.queue(lock, insert))
            .await
    }

    async fn requeue(connection: &mut Self, lock: Option<i64>, id: Uuid) -> QueryResult<usize> {
        connection
            .hop(move |connection| connection.requeue(lock, id))
            .await
    }

    async fn wake(connection: &mut Self) -> QueryResult<()> {
        opening(connection, Phases::wake).await
    }

    questions! { queue brought }

    async fn listen(_: &mut Self, _: impl Fn()) -> QueryResult<()> {
        Ok(())
    }
}
