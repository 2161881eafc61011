//! The outbox's publishers against real servers: what arrives, what they say of what does not, and what becomes of it all
//! when a server dies. The shared servers are those that `cargo xtask test` starts; who kills one has one of its own.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod destination;
mod hook;
mod killed;
mod messages;
mod nats;
mod quiet;
mod rabbitmq;
mod relayed;
mod servers;
mod webhook;
