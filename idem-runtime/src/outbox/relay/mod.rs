//! The relay: takes messages from the table, has them published, and writes down what became of them, turn
//! by turn. Any number of them share the work.
//!
//! No SQL, no publisher.

mod builder;
mod chores;
mod claims;
mod marks;
mod publish;
mod wake;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tracing::{Instrument, Span};

pub use builder::{RelayBuildError, RelayBuilder};

use super::Publisher;
use crate::operation::Chain;
use crate::pool::{ConnectionPool, LendError, Loan};
use crate::store::Backend;
use crate::store::outbox::{self, Reached};
use crate::telemetry;
use crate::workers::{Worker, spread};
use builder::Settings;
use claims::Claims;

/// How long the pool has to lend a connection.
const LENDING: Duration = Duration::from_secs(10);

/// After a turn that failed: the database is away, or its tables are.
const PAUSE: Duration = Duration::from_secs(1);

/// Publishes what has been queued: at least once, in the order of the commits for each ordering key.
///
/// Any number of relays may run, in the application's processes or in ones of their own. One that is
/// killed leaves what it had taken to the others, which take it once its time has run out
/// ([`claim_for`](RelayBuilder::claim_for)); what it had published then comes a second time, with the
/// same id.
///
/// ```no_run
/// # #[cfg(all(feature = "postgres", feature = "bb8"))]
/// # mod example {
/// use diesel_async::AsyncPgConnection;
/// use diesel_async::pooled_connection::bb8::Pool;
/// use idem_runtime::outbox::{OutboxMessage, OutboxRelay, PublishError, Publisher};
///
/// struct Printer;
///
/// impl Publisher for Printer {
///     async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
///         println!("{} {}", message.id(), message.topic());
///         Ok(())
///     }
/// }
///
/// async fn relay(pool: Pool<AsyncPgConnection>) -> Result<(), Box<dyn std::error::Error>> {
///     let relay = OutboxRelay::builder(pool, Printer).build()?;
///     relay.run(std::future::pending()).await;
///     Ok(())
/// }
/// # }
/// ```
///
/// On PostgreSQL it is woken by the commit of whoever queues, over a connection of its own, and looks by
/// itself now and then; on SQLite it looks by itself.
///
/// In `metrics` it measures `idempotency_outbox_backlog` and `idempotency_outbox_oldest_seconds`, and counts
/// `idempotency_outbox_sent_total`, `idempotency_outbox_failed_total` and `idempotency_outbox_dead_total`.
pub struct OutboxRelay<C, P> {
    pool: Arc<dyn ConnectionPool<C>>,
    publisher: P,
    settings: Settings,
}

impl<C, P> fmt::Debug for OutboxRelay<C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxRelay")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// One way through all ordering keys, look by look.
struct Round {
    reached: Reached,
    /// Whether nothing has been found on the way.
    is_idle: bool,
}

impl Round {
    fn new() -> Self {
        Self {
            reached: Reached::default(),
            is_idle: true,
        }
    }

    /// One more look; whether it was the last one of a round that has found nothing.
    fn goes_on(&mut self, is_idle: bool, reached: Option<Reached>) -> bool {
        self.is_idle &= is_idle;
        match reached {
            Some(reached) => {
                self.reached = reached;
                false
            }
            None => std::mem::replace(self, Self::new()).is_idle,
        }
    }
}

impl<C: Backend, P: Publisher> OutboxRelay<C, P> {
    /// A relay over this pool, to this publisher.
    pub fn builder(pool: impl ConnectionPool<C>, publisher: P) -> RelayBuilder<C, P> {
        RelayBuilder::new(pool.shared(), publisher)
    }

    /// Works until that is done; then finishes what is being published, gives the rest back, and returns.
    ///
    /// Needs no runtime of actix, but one of tokio, with time.
    pub async fn run(self, until: impl Future<Output = ()>) {
        let (stop, stopped) = watch::channel(false);
        let mut work = pin!(self.work(stopped));
        tokio::select! {
            () = &mut work => {}
            () = until => {
                stop.send_replace(true);
                work.await;
            }
        }
    }

    /// Works on the actix runtime of this thread. A process of its own is kept from it by no handler.
    ///
    /// # Panics
    ///
    /// Outside of an actix runtime, such as that of `#[actix_web::main]`.
    pub fn spawn(self) -> Worker
    where
        C: 'static,
    {
        Worker::of(|mut stopped| {
            self.run(async move {
                // If the handle was dropped, nobody will stop it.
                if stopped.wait_for(|stopped| *stopped).await.is_err() {
                    std::future::pending::<()>().await;
                }
            })
        })
    }

    async fn work(&self, stopped: watch::Receiver<bool>) {
        let woken = Notify::new();
        tokio::select! {
            // Each comes to its own end: on SQLite a connection must not be dropped in the middle of a statement.
            _ = join(self.take_turns(&woken, stopped.clone()), chores::keep(self, stopped)) => {}
            () = wake::listen(&*self.pool, &woken) => {}
        }
    }

    async fn take_turns(&self, woken: &Notify, mut stopped: watch::Receiver<bool>) {
        let mut round = Round::new();
        let mut claims = Claims::new(self.settings);
        while !*stopped.borrow() {
            let span = telemetry::relay_turn();
            let turn = self.turn(&mut round, &mut claims, &span, &stopped);
            let turned = turn.instrument(span.clone()).await;
            telemetry::ended(&span, if turned.is_ok() { "done" } else { "failed" });
            let pause = match turned {
                Ok(None) => continue,
                Ok(Some(pause)) => pause,
                Err(error) => {
                    let error = Chain(&error);
                    tracing::warn!(parent: &span, %error, "a relay's turn is put off");
                    let put_off = sleep(PAUSE.min(self.settings.poll));
                    tokio::select! {
                        () = put_off => {}
                        Ok(_) = stopped.wait_for(|stopped| *stopped) => {}
                    }
                    continue;
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = woken.notified() => {}
                Ok(_) = stopped.wait_for(|stopped| *stopped) => {}
            }
        }
    }

    /// Takes messages and has them published; or says how long there will be nothing to do, unless somebody
    /// queues something.
    async fn turn(
        &self,
        round: &mut Round,
        claims: &mut Claims,
        span: &Span,
        stopped: &watch::Receiver<bool>,
    ) -> Result<Option<Duration>, RelayError> {
        let mut connection = self.lend().await?;
        claims.give_back(&mut **connection).await?;
        // Whoever would write has to wait for others, and they for him.
        if !C::ONE_WRITER || outbox::due(&mut **connection).await?.0 {
            let (hand, reached) = claims.take(&mut **connection, &round.reached).await?;
            telemetry::took(span, hand.rows.len());
            let is_over = round.goes_on(hand.rows.is_empty(), reached);
            if !hand.rows.is_empty() {
                drop(connection);
                publish::publish(self, hand, stopped).await;
                return Ok(None);
            }
            if !is_over {
                return Ok(None);
            }
        }
        let (_, next) = outbox::due(&mut **connection).await?;
        let next = next.map(|next| u64::try_from(next).unwrap_or_default());
        let mut poll = spread(self.settings.poll);
        if claims.are_unanswered() {
            poll = poll.min(PAUSE);
        }
        // Not before it is due: the numbers are whole milliseconds.
        let pause = next.map_or(poll, |next| poll.min(Duration::from_millis(next + 1)));
        Ok(Some(pause))
    }

    async fn lend(&self) -> Result<Loan<C>, RelayError> {
        match timeout(LENDING, self.pool.lend()).await {
            Ok(lent) => Ok(lent?),
            Err(_) => Err(RelayError::Exhausted),
        }
    }
}

/// Why a relay did not get on, this time.
#[derive(Debug, thiserror::Error)]
enum RelayError {
    #[error("no connection")]
    Lend(#[from] LendError),
    #[error("no connection became free")]
    Exhausted,
    #[error("the database failed")]
    Database(#[from] diesel::result::Error),
}
