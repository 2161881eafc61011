//! Waking relays when messages have been committed: behind the commit, once for many, over a connection of
//! the pool that nobody's request holds.
//!
//! A notification in the handler's own transaction would be simpler. But PostgreSQL lets only one transaction
//! that notifies commit at a time, and each waits for the disk alone. Whoever dies between the commit and the
//! bell has woken nobody, and relays look by themselves.
//!
//! No SQL.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::operation::Chain;
use crate::pool::ConnectionPool;
use crate::store::Backend;

/// Between two notifications of one process.
const PAUSE: Duration = Duration::from_millis(10);

/// How long the pool has to lend a connection. Relays have looked by themselves then.
const LENDING: Duration = Duration::from_secs(10);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Still,
    Ringing,
    /// It has to ring once more for what has come since.
    Again,
}

pub(crate) struct Bell<C> {
    pool: Arc<dyn ConnectionPool<C>>,
    state: Arc<Mutex<State>>,
}

impl<C: Backend> Bell<C> {
    pub(crate) fn new(pool: Arc<dyn ConnectionPool<C>>) -> Self {
        let state = Arc::default();
        Self { pool, state }
    }

    /// Messages have been committed. Waits for nothing.
    pub(crate) fn ring(&self) {
        if !C::TELLS {
            return;
        }
        let mut state = lock(&self.state);
        if *state != State::Still {
            *state = State::Again;
            return;
        }
        *state = State::Ringing;
        drop(state);
        let mut ringing = Ringing(Some(Arc::clone(&self.state)));
        let pool = Arc::clone(&self.pool);
        actix_web::rt::spawn(async move {
            loop {
                wake(&*pool).await;
                sleep(PAUSE).await;
                if !ringing.goes_on() {
                    return;
                }
            }
        });
    }
}

async fn wake<C: Backend>(pool: &dyn ConnectionPool<C>) {
    match timeout(LENDING, pool.lend()).await {
        Ok(Ok(mut connection)) => {
            if let Err(error) = C::wake(&mut *connection).await {
                tracing::warn!(%error, "relays could not be woken");
            }
        }
        Ok(Err(error)) => {
            tracing::warn!(error = %Chain(&error), "relays could not be woken: no connection");
        }
        Err(_) => tracing::warn!("relays could not be woken: no connection became free"),
    }
}

/// Whoever rings. Its task may end with the worker that it runs on: somebody else rings next then.
struct Ringing(Option<Arc<Mutex<State>>>);

impl Ringing {
    fn goes_on(&mut self) -> bool {
        let Some(state) = &self.0 else {
            return false;
        };
        let mut state = lock(state);
        if *state == State::Again {
            *state = State::Ringing;
            return true;
        }
        *state = State::Still;
        drop(state);
        // From here on it may be somebody else who rings.
        self.0 = None;
        false
    }
}

impl Drop for Ringing {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            *lock(state) = State::Still;
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
