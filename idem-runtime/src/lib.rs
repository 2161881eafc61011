//! Idempotent actix-web handlers: claim, effect and response in one diesel transaction.
//!
//! | module | what lives there |
//! |---|---|
//! | [`policy`] | what one endpoint declared |
//! | [`pool`] | pools, and how their connections are set up |
//! | [`problem`] | our own answers |
//! | [`migrations`] | the table |
//!
//! # Features
//!
//! | name | what it does | default |
//! |---|---|---|
//! | `postgres` | `AsyncPgConnection` | yes |
//! | `sqlite` | `SyncConnectionWrapper<SqliteConnection>` | no |
//! | `bb8` | diesel-async's bb8 pool | yes |
//! | `deadpool` | diesel-async's deadpool pool | no |

#![cfg_attr(
    not(all(feature = "postgres", feature = "sqlite")),
    allow(
        dead_code,
        reason = "one backend alone does not use all that they share"
    )
)]

#[doc(hidden)]
pub mod private;

mod run;

mod attempt;
mod claim;
mod operation;
mod supervise;

mod inflight;
mod transaction;

mod store;

mod response;

mod body;

mod canonical;
mod digest;
mod fingerprint;

mod key;
mod scope;

pub mod migrations;
pub mod policy;
pub mod pool;
pub mod problem;

mod idempotency;
mod retry;

pub use idem_macros::idempotent;

pub use idempotency::{BuildError, Builder, Idempotency};
pub use key::IdempotencyKey;
pub use policy::{IdempotencyPolicy, policies};
pub use retry::Retry;
pub use scope::Account;
pub use store::{Backend, prune};
