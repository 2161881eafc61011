//! The contract, case by case, on every backend where a case can happen. One binary, so that it is linked once.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asking;
mod blocking;
mod cancel;
mod chaos;
mod crash;
mod cut;
mod fingerprint;
mod horizon;
mod hostile;
mod keys;
mod lease;
mod logging;
mod metrics;
mod operating;
mod outbox;
mod proxy;
mod prune;
mod prune_scale;
mod races;
mod remembering;
mod replay;
mod scopes;
mod statuses;
mod storable;
mod timeout;
mod twice;
mod unprotected;
mod wire;
mod words;
