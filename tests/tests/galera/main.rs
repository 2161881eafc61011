//! MariaDB nodes that are one Galera cluster, and applications at each of them: named locks are one node's, so that
//! here the primary key and certification alone keep an operation from happening twice. `cargo xtask galera` provides
//! the nodes. The servers do not wait for each other before a look (`wsrep_sync_wait = 0`); the tests do.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asking;
mod crash;
mod figures;
mod lease;
mod outage;
mod outbox;
mod pruning;
mod races;
mod stale;
