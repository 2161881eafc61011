//! Who gets the messages, outside of any database: it writes down what arrives, and what it did with it. What should have
//! arrived is not said here.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use idem_tests::hook::{Got, Hook, Reaction};

use crate::history::{Arrival, History};

/// What it is like to those who send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// Refuses every second one, and says so.
    Picky,
    /// Takes it and says that something went wrong.
    Muddled,
    /// Takes it and says nothing.
    Silent,
    /// Takes it and breaks the connection.
    Rude,
}

pub(crate) struct Receiver {
    hook: Hook,
    mood: Arc<Mutex<Option<(Instant, Mood)>>>,
}

impl Receiver {
    pub(crate) async fn start(history: Arc<History>) -> Self {
        let mood = Arc::default();
        let own = Arc::clone(&mood);
        let is_second = AtomicBool::default();
        let hook = Hook::start(move |got| {
            let mood = current(&own);
            let is_taken = mood != Mood::Picky || is_second.fetch_not(Ordering::Relaxed);
            history.arrival(arrival(&got, is_taken));
            match mood {
                _ if !is_taken => Reaction::answer(503, ""),
                Mood::Well | Mood::Picky => Reaction::answer(204, ""),
                Mood::Muddled => Reaction::answer(500, ""),
                Mood::Silent => Reaction::Silence,
                Mood::Rude => Reaction::Reset,
            }
        })
        .await;
        Self { hook, mood }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.hook.address()
    }

    /// It is like that for so long.
    pub(crate) fn be(&self, mood: Mood, during: Duration) {
        *lock(&self.mood) = Some((Instant::now() + during, mood));
    }

    pub(crate) fn heal(&self) {
        *lock(&self.mood) = None;
    }
}

fn current(mood: &Mutex<Option<(Instant, Mood)>>) -> Mood {
    let until = lock(mood).filter(|(until, _)| Instant::now() < *until);
    until.map(|(_, mood)| mood).unwrap_or_default()
}

fn arrival(got: &Got, is_taken: bool) -> Arrival {
    Arrival {
        id: got
            .header("webhook-id")
            .unwrap_or_default()
            .replace('-', ""),
        body: String::from_utf8_lossy(&got.body).into(),
        is_taken,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
