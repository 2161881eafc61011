//! A PostgreSQL primary that dies under its applications, and a standby that is promoted: what of the promise survives,
//! and what does not. Each case has two servers of its own.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asynchronous;
mod leases;
mod load;
mod outage;
mod pair;
mod split;
mod synchronous;
mod unconfirmed;
