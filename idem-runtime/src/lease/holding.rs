//! A claim that is ours, and what is known of its lease while a handler runs under it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use crate::operation::Keyed;
use crate::seal::Context;
use crate::store::lease::Held;

/// What the heartbeat says of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// It is ours.
    Kept,
    /// Somebody else has the claim, or it is over.
    Taken,
    /// It could not be renewed, and will run out soon.
    Unrenewed,
}

/// A claim that is ours. Its lease is renewed until this is dropped.
pub(crate) struct Holding {
    pub(crate) held: Held,
    /// As it stands in the row.
    pub(super) fingerprint: Vec<u8>,
    watched: Watched,
}

/// What keeps the heartbeat going.
#[derive(Clone)]
pub(crate) struct Switch(Arc<Mutex<Option<oneshot::Sender<()>>>>);

impl Switch {
    fn new(alive: oneshot::Sender<()>) -> Self {
        Self(Arc::new(Mutex::new(Some(alive))))
    }

    /// Lets the heartbeat stop: the lease is neither renewed nor given up.
    pub(crate) fn off(&self) {
        drop(self.lock().take());
    }

    fn is_off(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease as somebody sees it who works under it.
#[derive(Clone)]
pub(crate) struct Watched {
    word: watch::Receiver<Word>,
    switch: Switch,
    /// Whether a transaction of ours keeps all others from writing, which is as good as a renewal.
    writing: Arc<AtomicBool>,
}

impl Watched {
    pub(crate) fn word(&self) -> Word {
        match self.word.has_changed() {
            // The heartbeat is gone, and nobody has stopped it.
            Err(_) if !self.switch.is_off() && *self.word.borrow() == Word::Kept => Word::Unrenewed,
            _ => *self.word.borrow(),
        }
    }

    /// Says so, until the guard is dropped.
    pub(crate) fn writing(&self) -> Writing {
        self.writing.store(true, Ordering::SeqCst);
        Writing(Arc::clone(&self.writing))
    }
}

/// A transaction of ours that keeps all others from writing.
pub(crate) struct Writing(Arc<AtomicBool>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Holding {
    pub(crate) fn new(
        held: Held,
        fingerprint: Vec<u8>,
        word: watch::Receiver<Word>,
        alive: oneshot::Sender<()>,
        writing: Arc<AtomicBool>,
    ) -> Self {
        let watched = Watched {
            word,
            switch: Switch::new(alive),
            writing,
        };
        Self {
            held,
            fingerprint,
            watched,
        }
    }

    /// What is stored under this claim is stored for this.
    pub(crate) fn context<'a>(&'a self, keyed: &'a Keyed) -> Context<'a> {
        Context {
            fingerprint: &self.fingerprint,
            ..keyed.context()
        }
    }

    pub(crate) fn switch(&self) -> Switch {
        self.watched.switch.clone()
    }

    pub(crate) fn word(&self) -> Word {
        self.watched.word()
    }

    pub(crate) fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// Waits until the lease is lost, or about to be.
    pub(crate) async fn lost(&self) {
        let mut word = self.watched.word.clone();
        let waited = word.wait_for(|word| *word != Word::Kept).await.map(drop);
        if waited.is_err() && self.watched.switch.is_off() {
            std::future::pending::<()>().await;
        }
    }
}

/// The request's extensions hold the switch, too: only the claim's own end counts.
impl Drop for Holding {
    fn drop(&mut self) {
        self.watched.switch.off();
    }
}
