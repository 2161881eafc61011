//! A connection that blocks, on a thread that may: what is done on it is sent there, one job after the
//! other.
//!
//! The connection stays on its thread from the moment it is lent until it is given back. So whoever holds
//! one needs no second thread to get on, and threads that wait for a connection cannot keep those from
//! working that would give one back.
//!
//! No SQL, no decisions about outcomes.

mod crossing;
mod extractors;

use std::any::Any;
use std::fmt;
use std::ops::DerefMut;
use std::panic::resume_unwind;

use diesel::result::{DatabaseErrorKind, Error};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::pool::LendError;
use crate::store::{BlockingBackend, address};

pub(crate) use crossing::is_unread;
pub use crossing::run;
use extractors::Extractors;

/// A connection of diesel that blocks (`PgConnection`, `MysqlConnection`, `SqliteConnection`), lent by an `r2d2` pool,
/// on a thread of the runtime's blocking pool: the one that `web::block` uses.
///
/// What takes a connection of ours, such as [`prune`](crate::prune()) and [`settle`](crate::settle), takes
/// this one too; an application gets it from its pool:
///
/// ```
/// # #[cfg(feature = "postgres-blocking")]
/// # mod example {
/// use diesel::PgConnection;
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use idem_runtime::Blocking;
/// use idem_runtime::pool::ConnectionPool;
///
/// # async fn job(pool: Pool<ConnectionManager<PgConnection>>) -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = ConnectionPool::<Blocking<PgConnection>>::lend(&pool).await?;
/// idem_runtime::prune(&mut **conn, 1_000).await?;
/// # Ok(())
/// # }
/// # }
/// ```
///
/// If what waits for a job is dropped, the job runs to its end: a thread cannot be stopped. The connection is
/// then given back behind it, and closed by its pool if a transaction is still open.
pub struct Blocking<C> {
    /// Taken while a job is waited for: who drops that has given the connection up.
    thread: Option<Thread<C>>,
    /// Where the connection is on its thread.
    address: usize,
}

struct Thread<C> {
    jobs: mpsc::UnboundedSender<Job<C>>,
    task: JoinHandle<()>,
}

type Job<C> = Box<dyn FnOnce(&mut C) + Send>;

impl<C> fmt::Debug for Blocking<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blocking(..)")
    }
}

/// The connection is not there any more.
pub(crate) enum Gone {
    /// A job panicked, with this.
    Panicked(Box<dyn Any + Send>),
    /// An earlier job was given up, or the runtime is being shut down.
    GivenUp,
}

impl<C: BlockingBackend> Blocking<C> {
    /// Does this on the connection's thread: for `async` code that has been lent the connection, such as a step in
    /// lease mode.
    ///
    /// ```
    /// # #[cfg(feature = "postgres-blocking")]
    /// # mod example {
    /// # use diesel::{PgConnection, RunQueryDsl, sql_query};
    /// # use idem_runtime::{Blocking, StepError, Steps};
    /// # #[derive(Debug)] enum OrderError { Database(diesel::result::Error), Step(StepError) }
    /// # impl From<diesel::result::Error> for OrderError { fn from(e: diesel::result::Error) -> Self { Self::Database(e) } }
    /// # impl From<StepError> for OrderError { fn from(e: StepError) -> Self { Self::Step(e) } }
    /// # async fn pay(steps: Steps<Blocking<PgConnection>>) -> Result<usize, OrderError> {
    /// steps
    ///     .transaction("order", async |conn| {
    ///         conn.run(|conn| Ok::<_, OrderError>(sql_query("SELECT 1").execute(conn)?)).await
    ///     })
    ///     .await
    /// # }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Its own, and one of the database where an earlier job was given up.
    ///
    /// # Panics
    ///
    /// Where it does. The connection is closed then.
    pub async fn run<T, E>(
        &mut self,
        work: impl FnOnce(&mut C) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        match self.on_thread(work).await {
            Ok(done) => done,
            Err(Gone::GivenUp) => Err(E::from(Error::from(Gone::GivenUp))),
            Err(panicked) => panicked.resume(),
        }
    }
}

impl<C: 'static> Blocking<C> {
    /// A connection that is opened on its thread, and closed or given back there.
    pub(crate) async fn open<L>(
        open: impl FnOnce(&Wanted) -> Result<L, LendError> + Send + 'static,
    ) -> Result<Self, LendError>
    where
        L: DerefMut<Target = C>,
    {
        let (jobs, mut queue) = mpsc::unbounded_channel::<Job<C>>();
        let (opened, opening) = oneshot::channel();
        let task = spawn_blocking(move || {
            let wanted = Wanted(opened);
            let mut connection = match open(&wanted) {
                Ok(connection) => connection,
                Err(error) => return wanted.answer(Err(error)),
            };
            wanted.answer(Ok(address(&*connection)));
            while let Some(job) = queue.blocking_recv() {
                job(&mut connection);
            }
        });
        let address = match opening.await {
            Ok(opened) => opened?,
            Err(_) => return Err(LendError::new("the thread of a connection ended")),
        };
        Ok(Self {
            thread: Some(Thread { jobs, task }),
            address,
        })
    }

    /// Does this on the connection's thread.
    pub(crate) async fn on_thread<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut C) -> R + Send + 'static,
    ) -> Result<R, Gone> {
        let thread = self.thread.take().ok_or(Gone::GivenUp)?;
        let (done, result) = oneshot::channel();
        let job: Job<C> = Box::new(move |connection| {
            let _unheard = done.send(work(connection));
        });
        if thread.jobs.send(job).is_ok()
            && let Ok(result) = result.await
        {
            self.thread = Some(thread);
            return Ok(result);
        }
        Err(match thread.task.await {
            Err(error) if error.is_panic() => Gone::Panicked(error.into_panic()),
            _ => Gone::GivenUp,
        })
    }

    /// Whether an earlier job was given up, or panicked.
    pub(crate) fn is_gone(&self) -> bool {
        self.thread.is_none()
    }

    /// Where the connection itself is.
    pub(crate) fn address(&self) -> usize {
        self.address
    }
}

/// Somebody who waits for a connection.
pub(crate) struct Wanted(oneshot::Sender<Result<usize, LendError>>);

impl Wanted {
    /// Whether anybody still does.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_closed()
    }

    fn answer(self, answer: Result<usize, LendError>) {
        let _unheard = self.0.send(answer);
    }
}

impl Gone {
    /// A panic goes on where it was waited for.
    fn resume(self) -> ! {
        match self {
            Self::Panicked(panic) => resume_unwind(panic),
            Self::GivenUp => resume_unwind(Box::new("the thread of a connection ended")),
        }
    }
}

impl From<Gone> for Error {
    fn from(_: Gone) -> Self {
        let message = "the thread of the connection ended".to_owned();
        Self::DatabaseError(DatabaseErrorKind::ClosedConnection, Box::new(message))
    }
}
