//! A claim that is ours, and what is known of its lease while a handler runs under it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

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
    word: watch::Receiver<Word>,
    switch: Switch,
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
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Holding {
    pub(crate) fn new(held: Held, word: watch::Receiver<Word>, alive: oneshot::Sender<()>) -> Self {
        let switch = Switch::new(alive);
        Self { held, word, switch }
    }

    pub(crate) fn switch(&self) -> Switch {
        self.switch.clone()
    }

    pub(crate) fn word(&self) -> Word {
        *self.word.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Word> {
        self.word.clone()
    }

    /// Waits until the lease is lost, or about to be.
    pub(crate) async fn lost(&self) -> Word {
        let mut word = self.word.clone();
        match word.wait_for(|word| *word != Word::Kept).await {
            Ok(word) => *word,
            // The heartbeat was stopped.
            Err(_) => std::future::pending().await,
        }
    }
}

/// The request's extensions hold the switch, too: only the claim's own end counts.
impl Drop for Holding {
    fn drop(&mut self) {
        self.switch.off();
    }
}
