//! What all handlers of the process share.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use crate::gates::Gates;
use crate::migrate::Url;

pub(crate) struct Tools {
    pub(crate) url: Url,
    pub(crate) gates: Gates,
    /// Whether the fussy extractor is in the mood to refuse.
    pub(crate) is_fussy: AtomicBool,
    entered: Mutex<HashMap<String, u64>>,
}

impl Tools {
    pub(crate) fn new(url: Url) -> Self {
        Self {
            url,
            gates: Gates::default(),
            is_fussy: AtomicBool::new(false),
            entered: Mutex::default(),
        }
    }

    /// A handler was entered.
    pub(crate) fn enter(&self, label: &str) {
        let mut entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        *entered.entry(label.into()).or_default() += 1;
    }

    pub(crate) fn entered(&self, label: &str) -> u64 {
        let entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        entered.get(label).copied().unwrap_or_default()
    }
}
