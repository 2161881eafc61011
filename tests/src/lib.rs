//! What the contract suite is written with: fresh databases, the test application as a process, a raw HTTP client and
//! a proxy that reads the wire. Public API of the runtime only; no assertion about the contract lives here.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod app;
#[cfg(doctest)]
pub mod book;
pub mod broken;
mod database;
pub mod hook;
mod http;
pub mod outbox;
mod proxy;
mod stage;
mod switch;
mod together;

pub use app::{App, Effects, Launch, send};
pub use database::{Backend, Database};
pub use http::{Connection, Request, Response};
pub use proxy::{Cut, Proxy, Sent, server_of, with_address};
pub use stage::{Stage, Style};
pub use switch::Switch;
pub use together::{all_at_once, until};

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
