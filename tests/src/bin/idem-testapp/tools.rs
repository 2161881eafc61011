//! What all handlers of the process share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Arguments;
use crate::gates::Gates;
use crate::leased::Deployment;
use crate::migrate::Url;

/// As many as the migration puts into `stock`.
const ITEMS: u16 = 1000;

pub(crate) struct Tools {
    pub(crate) url: Url,
    pub(crate) deployment: Deployment,
    pub(crate) has_heartbeat: bool,
    pub(crate) gates: Gates,
    /// Whether the fussy extractor is in the mood to refuse.
    pub(crate) is_fussy: AtomicBool,
    sales: AtomicU16,
    entered: Mutex<HashMap<String, u64>>,
}

impl Tools {
    pub(crate) fn new(url: Url, arguments: &Arguments) -> Self {
        Self {
            url,
            deployment: arguments.deployment,
            has_heartbeat: !arguments.no_heartbeat,
            gates: Gates::default(),
            is_fussy: AtomicBool::new(false),
            sales: AtomicU16::new(0),
            entered: Mutex::default(),
        }
    }

    /// In turn, so that requests do not meet on one.
    pub(crate) fn next_item(&self) -> i32 {
        i32::from(self.sales.fetch_add(1, Ordering::Relaxed) % ITEMS)
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
