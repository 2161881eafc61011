//! An HTTP client for APIs with an `Idempotency-Key`, such as those of `idem-runtime`, and any other that follows
//! [the draft](https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07).
//!
//! ```no_run
//! # async fn example(order: serde_json::Value) -> Result<(), Box<dyn std::error::Error>> {
//! use idem_client::{IdempotentClient, Outcome};
//!
//! let client = IdempotentClient::new()?;
//! let request = client.post("http://localhost:8080/orders").json(&order);
//! match request.send().await? {
//!     Outcome::Done(done) => println!("{}", done.answer().status()),
//!     Outcome::Refused(refused) => println!("no: {}", refused.answer().status()),
//!     // Not "it failed": keep it, and run it again later.
//!     Outcome::Unknown(unknown) => println!("not known yet: {}", unknown.why()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * **One key for one operation**, made before the first attempt, for every method that is not idempotent by RFC 9110
//!   (section 9.2.2): `POST`, `PATCH` and extensions. The same bytes go out at every attempt.
//! * **Only what may help is sent again**: time-outs, connections that fail, answers that break off, 408, 425, 429, 5xx, and 409 where
//!   the problem says `retryable`. Not 5xx that says it is not, nor 501 and 505. Never 400, 401, 403 or 422.
//! * **Pauses** grow exponentially with full jitter; `Retry-After` is added; a budget bounds all of it.
//! * **A refusal is believed** of the first attempt, or if it is marked as a replay. Behind an attempt that may be done, any other 4xx
//!   leaves the outcome unknown ([`Why::RefusedLater`]).
//! * **The outcome is one of three**, and [`Outcome::Unknown`] brings the operation back, to go on with the same key. An error of
//!   a call ([`NotSent`]) says that it sent nothing.
//! * **No redirect is followed**, and reqwest retries nothing by itself: see [`Builder::http`].
//! * **Neither keys nor bodies nor headers are logged** or printed by `Debug`.
//!
//! An answer is read whole before it is believed, so this is no client for downloads. A call does not retry what the server's own
//! clients below retry: switch the retries of a proxy or mesh in between off.
//!
//! # A process that may die
//!
//! Save the operation before the first attempt, so that a crash leaves the whole file or none, and run what is left after a restart,
//! with a token of the same account. [`PendingOperation`] says what is saved and what is not.
//!
//! ```no_run
//! # use idem_client::{IdempotentClient, Outcome, PendingOperation};
//! # use idem_client::reqwest::header::{AUTHORIZATION, HeaderValue};
//! use std::fs::{self, File};
//! use std::io::{self, Write};
//!
//! /// On the disk, all of it, before anything is sent.
//! fn keep(operation: &PendingOperation) -> io::Result<()> {
//!     let mut file = File::create("order.new")?;
//!     file.write_all(&serde_json::to_vec(operation)?)?;
//!     file.sync_all()?;
//!     fs::rename("order.new", "order.json")?;
//!     File::open(".")?.sync_all() // the directory, for the name (on Unix)
//! }
//!
//! # async fn example(client: IdempotentClient, token: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let mut operation = client
//!     .post("http://localhost:8080/orders")
//!     .bearer_auth(token)
//!     .body("tea")
//!     .prepare()?;
//! keep(&operation)?;
//! if !matches!(client.run(&mut operation).await?, Outcome::Unknown(_)) {
//!     fs::remove_file("order.json")?;
//! }
//!
//! // After a restart:
//! let mut left: PendingOperation = serde_json::from_slice(&fs::read("order.json")?)?;
//! left.secret_header(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);
//! let outcome = client.run(&mut left).await?;
//! # let _ = outcome;
//! # Ok(())
//! # }
//! ```
//!
//! # Without async
//!
//! There is no blocking variant, since that is one line more: a runtime of one thread, kept beside the client.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use idem_client::{IdempotentClient, Outcome};
//!
//! // Kept, with the client, for as long as connections are to be used again.
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let client = IdempotentClient::builder()
//!     .budget(std::time::Duration::from_millis(50))
//!     .build()?;
//!
//! // Nobody listens there.
//! let outcome = runtime.block_on(client.post("http://127.0.0.1:9/orders").body("tea").send())?;
//! assert!(matches!(outcome, Outcome::Unknown(unknown) if !unknown.may_be_done()));
//! # Ok(())
//! # }
//! ```
//!
//! # TLS
//!
//! It is the application's choice: enable `rustls` or `native-tls` on its own `reqwest`, of the version that is
//! [exported](reqwest) here. Without one, an attempt at `https` finds no connection.

mod answer;
mod attempt;
mod builder;
mod client;
mod course;
mod drive;
mod error;
mod failure;
mod key;
mod operation;
mod outcome;
mod problem;
pub mod published;
mod request;
mod retry_after;
mod verdict;

pub use backon::ExponentialBuilder;
pub use reqwest;

pub use answer::Answer;
pub use builder::Builder;
pub use client::IdempotentClient;
pub use error::{BuildError, NotSent};
pub use failure::Failure;
pub use key::{InvalidKey, Key, KeyForm};
pub use operation::PendingOperation;
pub use outcome::{Done, NotDone, Outcome, Refused, Unknown, Why};
pub use problem::Problem;
pub use request::Request;
