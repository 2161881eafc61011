//! Where handlers wait for a test instead of sleeping.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

#[derive(Default)]
pub(crate) struct Gates(Mutex<HashMap<String, Gate>>);

#[derive(Clone)]
struct Gate {
    is_open: Arc<watch::Sender<bool>>,
    waiting: Arc<watch::Sender<usize>>,
}

/// Counts somebody as waiting for as long as it lives: a handler may be dropped at the gate.
struct Waiting(Gate);

impl Gates {
    pub(crate) async fn pass(&self, name: &str) {
        let gate = self.named(name);
        let mut is_open = gate.is_open.subscribe();
        let _waiting = Waiting::at(gate);
        let _ = is_open.wait_for(|is_open| *is_open).await;
    }

    pub(crate) fn open(&self, name: &str) {
        self.named(name).is_open.send_replace(true);
    }

    pub(crate) async fn reached(&self, name: &str, count: usize) {
        let mut waiting = self.named(name).waiting.subscribe();
        let _ = waiting.wait_for(|waiting| *waiting >= count).await;
    }

    fn named(&self, name: &str) -> Gate {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(name.into()).or_default().clone()
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            is_open: Arc::new(watch::Sender::new(false)),
            waiting: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl Waiting {
    fn at(gate: Gate) -> Self {
        gate.waiting.send_modify(|waiting| *waiting += 1);
        Self(gate)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.send_modify(|waiting| *waiting -= 1);
    }
}
