//! A PostgreSQL primary that dies under its applications, and a standby that is promoted: what of the promise survives,
//! and what does not. Each case has two servers of its own.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asynchronous;
mod load;
mod pair;
mod synchronous;
mod unconfirmed;
