//! Renewing leases, on a thread and a connection of its own: a handler that blocks its worker's thread
//! does not lose its lease, and a pool that is in use up to its last connection does not either.
//!
//! No SQL, no decisions about operations.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep_until, timeout};

use super::holding::{Holding, Word};
use crate::operation::Chain;
use crate::pool::ConnectionPool;
use crate::store::Backend;
use crate::store::lease::{Held, Renewal, renew};
use crate::telemetry::{HEARTBEATS, count};

/// Parts of a lease: when it is renewed, and how long after that it is tried again.
const RENEW_AFTER: f64 = 1.0 / 3.0;
const TRY_AGAIN_AFTER: f64 = 1.0 / 12.0;
/// The part of a lease that may pass without a renewal; in the rest of it the handler is dropped.
const GIVE_UP_AFTER: f64 = 5.0 / 6.0;

/// How long the database may take to renew a lease: others wait for the connection.
const RENEWING: Duration = Duration::from_secs(1);
const CONNECTING: Duration = Duration::from_secs(2);

/// Whether a claim that was asked for at that time may still be relied on.
pub(crate) fn is_fresh(held: &Held, since: Instant) -> bool {
    since.elapsed() < held.length.mul_f64(GIVE_UP_AFTER)
}

/// The heartbeat of one process, started with its first claim.
pub(crate) struct Heart<C> {
    pool: Arc<dyn ConnectionPool<C>>,
    beats: Mutex<Option<mpsc::UnboundedSender<Beat>>>,
}

/// A lease to be renewed.
struct Beat {
    held: Held,
    /// By our own clock, which measures lengths and is compared with nobody's: the lease was given
    /// after this.
    since: Instant,
    word: watch::Sender<Word>,
    /// Whether a transaction of ours keeps all others from writing.
    writing: Arc<AtomicBool>,
    /// Ends when the claim is not ours any more, or should be left alone.
    alive: oneshot::Receiver<()>,
}

impl<C: Backend> Heart<C> {
    pub(crate) fn new(pool: Arc<dyn ConnectionPool<C>>) -> Self {
        Self {
            pool,
            beats: Mutex::default(),
        }
    }

    /// Keeps this lease, which was asked for at that time, until the holding is dropped.
    ///
    /// # Errors
    ///
    /// There can be no thread.
    pub(crate) fn keep(
        &self,
        held: Held,
        fingerprint: Vec<u8>,
        since: Instant,
    ) -> io::Result<Holding> {
        let (word, watched) = watch::channel(Word::Kept);
        let (alive, until_dropped) = oneshot::channel();
        let writing = Arc::new(AtomicBool::new(false));
        let holding = Holding::new(held, fingerprint, watched, alive, Arc::clone(&writing));
        let mut beat = Beat {
            held,
            since,
            word,
            writing,
            alive: until_dropped,
        };
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*beats {
            match sender.send(beat) {
                Ok(()) => return Ok(holding),
                // The thread is gone, which only a panic can do. Another one takes its place.
                Err(mpsc::error::SendError(unsent)) => beat = unsent,
            }
        }
        let sender = start(Arc::clone(&self.pool))?;
        let _first = sender.send(beat);
        *beats = Some(sender);
        Ok(holding)
    }
}

fn start<C: Backend>(pool: Arc<dyn ConnectionPool<C>>) -> io::Result<mpsc::UnboundedSender<Beat>> {
    let (sender, mut beats) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("idem-heartbeat".to_owned())
        .spawn(move || {
            LocalSet::new().block_on(&runtime, async {
                let line = Rc::new(Line::new(pool));
                // The sender is gone when the application is.
                while let Some(beat) = beats.recv().await {
                    spawn_local(Rc::clone(&line).keep(beat));
                }
            });
        })?;
    Ok(sender)
}

/// The one connection for renewals. There is none while nothing has had to be renewed.
struct Line<C> {
    pool: Arc<dyn ConnectionPool<C>>,
    connection: tokio::sync::Mutex<Option<C>>,
    leases: Cell<usize>,
}

impl<C: Backend> Line<C> {
    fn new(pool: Arc<dyn ConnectionPool<C>>) -> Self {
        Self {
            pool,
            connection: tokio::sync::Mutex::default(),
            leases: Cell::new(0),
        }
    }

    async fn keep(self: Rc<Self>, beat: Beat) {
        self.leases.set(self.leases.get() + 1);
        let Beat {
            held,
            since,
            word,
            writing,
            mut alive,
        } = beat;
        let wanted = Rc::new(Cell::new(true));
        tokio::select! {
            biased;
            _ = &mut alive => wanted.set(false),
            lost = self.renew_until_lost(held, since, &writing, &wanted) => {
                wanted.set(false);
                word.send_replace(lost);
                // Kept open, so that the word is heard.
                let _dropped = alive.await;
            }
        }
        self.leases.set(self.leases.get() - 1);
        if self.leases.get() == 0
            && let Ok(mut connection) = self.connection.try_lock()
        {
            *connection = None;
        }
    }

    async fn renew_until_lost(
        self: &Rc<Self>,
        held: Held,
        mut since: Instant,
        writing: &AtomicBool,
        wanted: &Rc<Cell<bool>>,
    ) -> Word {
        let part = |part: f64| held.length.mul_f64(part);
        let mut next = since + part(RENEW_AFTER);
        loop {
            sleep_until(next).await;
            let give_up = since + part(GIVE_UP_AFTER);
            let asked = Instant::now();
            // Nobody can take the claim over meanwhile, and a renewal waits for ourselves.
            let writes_alone = || C::ONE_WRITER && writing.load(Ordering::SeqCst);
            if writes_alone() {
                since = asked;
                next = asked + part(TRY_AGAIN_AFTER);
                continue;
            }
            let left = give_up.saturating_duration_since(asked);
            match timeout(left, self.renewal(held, wanted)).await {
                Ok(Ok(Ok(Renewal::Done))) => {
                    beaten("renewed");
                    since = asked;
                    next = since + part(RENEW_AFTER);
                }
                Ok(Ok(Ok(Renewal::Busy))) => {
                    beaten("busy");
                    next = give_up.min(Instant::now() + part(TRY_AGAIN_AFTER));
                }
                Ok(Ok(Ok(Renewal::Taken))) => {
                    beaten("taken");
                    return Word::Taken;
                }
                Ok(Ok(Err(error))) => {
                    beaten("failed");
                    let error = Chain(&*error);
                    tracing::warn!(%error, "a lease could not be renewed yet");
                    next = give_up.min(Instant::now() + part(TRY_AGAIN_AFTER));
                }
                Err(_) if writes_alone() => next = Instant::now(),
                Ok(Err(_)) | Err(_) => {
                    beaten("given_up");
                    tracing::error!("a lease could not be renewed; its handler is cancelled");
                    return Word::Unrenewed;
                }
            }
        }
    }

    /// In a task of its own: on SQLite a statement must not be dropped in the middle of it.
    fn renewal(
        self: &Rc<Self>,
        held: Held,
        wanted: &Rc<Cell<bool>>,
    ) -> JoinHandle<Result<Renewal, Failure>> {
        let (line, wanted) = (Rc::clone(self), Rc::clone(wanted));
        spawn_local(async move { line.renew(held, &wanted).await })
    }

    async fn renew(&self, held: Held, wanted: &Cell<bool>) -> Result<Renewal, Failure> {
        let mut line = self.connection.lock().await;
        let mut connection = match line.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        // It may have been waited for too long.
        if !wanted.get() {
            *line = Some(connection);
            return Ok(Renewal::Taken);
        }
        let renewal = renew(&mut connection, &held);
        // Behind another writer it waits as long as the application has said.
        let renewed = if C::NEEDS_UNWINDING || C::ONE_WRITER {
            renewal.await?
        } else {
            timeout(RENEWING, renewal).await??
        };
        // After an error it is closed.
        *line = Some(connection);
        Ok(renewed)
    }

    async fn connect(&self) -> Result<C, Failure> {
        let mut connection = timeout(CONNECTING, self.pool.dedicate()).await??;
        C::read_committed(&mut connection).await?;
        Ok(connection)
    }
}

fn beaten(result: &'static str) {
    count(HEARTBEATS, "result", result);
}

type Failure = Box<dyn std::error::Error>;
