//! Idempotent actix-web handlers: claim, effect and response in one diesel transaction.
//!
//! A client names its operation in an `Idempotency-Key` header. [`#[idempotent]`](macro@idempotent)
//! claims that key, runs the handler inside a transaction, stores the response in the same one, and
//! answers every retry with it, byte for byte: within the retention, for one scope and key and a
//! matching request, the effect occurs once. A crash at any instant leaves nothing to clean up.
//!
//! ```
//! # #[cfg(all(feature = "postgres", feature = "bb8"))]
//! # mod example {
//! use actix_web::{App, HttpResponse, HttpServer, post, web};
//! use diesel_async::AsyncPgConnection;
//! use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8::Pool};
//! use idem_runtime::{Idempotency, idempotent, pool};
//!
//! #[post("/orders")]
//! #[idempotent(scope = "account", retain = "24h")]
//! async fn create_order(
//!     item: String,                  // any actix extractors, any number
//!     conn: &mut AsyncPgConnection,  // the one `&mut` parameter is the open transaction
//! ) -> HttpResponse {
//!     // … plain diesel …
//! #   let _ = (item, conn);
//!     HttpResponse::Created().finish()
//! }
//!
//! async fn serve(database_url: &str) -> Result<(), Box<dyn std::error::Error>> {
//!     let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new_with_config(
//!         database_url,
//!         pool::postgres_config(),
//!     );
//!     let idempotency = Idempotency::builder(Pool::builder().build(manager).await?)
//!         .account_with(|request| {
//!             let user = request.headers().get("x-authenticated-user")?;
//!             user.to_str().ok().map(str::to_owned)
//!         })
//!         .build()?;
//!     HttpServer::new(move || {
//!         App::new()
//!             .app_data(web::Data::new(idempotency.clone()))
//!             .service(create_order)
//!     })
//!     .bind(("127.0.0.1", 8080))?
//!     .run()
//!     .await?;
//!     Ok(())
//! }
//! # }
//! ```
//!
//! # Lease mode
//!
//! No transaction rolls a call to the outside world back. A handler that makes one is protected in
//! `mode = "lease"`: its claim is committed before it runs and renewed while it runs, it holds no
//! connection, and it does its work in [`Steps`], each of which is done once and remembered with the
//! claim. If the process dies, or the handler fails, the operation is unresolved: under
//! `unresolved = "hold"` nobody runs it again before a [`Reconciler`] or an operator
//! ([`unresolved`](unresolved()), [`settle`]) has said what became of it; under `"rerun"` a retry does, and finished
//! steps answer from their records.
//!
//! ```
//! # #[cfg(feature = "postgres")]
//! # mod example {
//! use actix_web::{HttpResponse, error, post};
//! use idem_runtime::{StepError, Steps, idempotent};
//! # async fn book(_: &str) -> Result<String, std::io::Error> { Ok(String::new()) }
//!
//! #[post("/parcels")]
//! #[idempotent(mode = "lease", lease = "2m", unresolved = "rerun")]
//! async fn send_parcel(steps: Steps) -> actix_web::Result<HttpResponse> {
//!     // `key` is derived from the client's, and the same in every run of this operation.
//!     let number = steps
//!         .call("book", async |key| book(&key).await.map_err(Failure::Courier))
//!         .await
//!         .map_err(error::ErrorBadGateway)?;
//!     Ok(HttpResponse::Created().body(number))
//! }
//! # #[derive(Debug)]
//! # enum Failure { Courier(std::io::Error), Step(StepError) }
//! # impl From<StepError> for Failure { fn from(error: StepError) -> Self { Self::Step(error) } }
//! # impl std::fmt::Display for Failure {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("failed") }
//! # }
//! # }
//! ```
//!
//! What runs in the background is started explicitly, on any number of replicas, and returns a
//! [`Worker`]: [`spawn_maintenance`](Idempotency::spawn_maintenance) deletes expired records,
//! [`spawn_reconciler`](Idempotency::spawn_reconciler) settles what is unresolved, and
//! [`spawn_completion`](Idempotency::spawn_completion) drives stranded operations of endpoints with
//! `resume = "background"` to their end, for whom [`Resumed`] says. The answer 202 of
//! `in_flight = "accept"` points at the [`status_resource`](Idempotency::status_resource).
//!
//! # Blocking handlers
//!
//! A handler that is not `async` takes `&mut PgConnection`, `&mut MysqlConnection` or `&mut SqliteConnection` of
//! diesel itself, out of an `r2d2` pool. It runs on a thread of the runtime's blocking pool, in the same transaction and with the same
//! outcomes; [`Blocking`] is its connection where one of ours is asked for.
//!
//! ```
//! # #[cfg(feature = "postgres-blocking")]
//! # mod example {
//! use actix_web::{HttpResponse, post, web};
//! use diesel::PgConnection;
//! use diesel::r2d2::{ConnectionManager, Pool};
//! use idem_runtime::{Blocking, Idempotency, idempotent, pool};
//!
//! #[post("/orders")]
//! #[idempotent]
//! fn create_order(item: web::Json<String>, conn: &mut PgConnection) -> HttpResponse {
//!     // … plain diesel, without `.await` …
//! #   let _ = (item, conn);
//!     HttpResponse::Created().finish()
//! }
//!
//! fn protection(url: &str) -> Result<Idempotency<Blocking<PgConnection>>, Box<dyn std::error::Error>> {
//!     let pool = Pool::builder()
//!         .connection_customizer(pool::postgres_customizer())
//!         .build(ConnectionManager::<PgConnection>::new(url))?;
//!     Ok(Idempotency::builder(pool)
//!         .account_with(|_| Some("somebody".to_owned()))
//!         .build()?)
//! }
//! # }
//! ```
//!
//! # Reading on
//!
//! The options are in the documentation of [`idempotent`](macro@idempotent), the settings of the
//! application in that of [`Builder`], our own answers in that of [`problem::ProblemCode`]. The table
//! comes from [`migrations`] or from `idem migration generate`.
//!
//! | module | what lives there |
//! |---|---|
//! | [`policy`] | what one endpoint declared |
//! | [`pool`] | pools, and how their connections are set up |
//! | [`problem`] | our own answers |
//! | [`outbox`] | messages to other systems |
//! | [`inbox`] | messages from other systems |
//! | [`inspect`] | what stands in the tables, for operators |
//! | [`migrations`] | the tables |
//! | `openapi` | the contract in an OpenAPI document (feature `openapi`) |
//! | [`telemetry`] | the names of metrics and spans |
//! | [`testing`] | the proof that an endpoint can be retried, and faults, for tests of applications |
//!
//! # Cancellation
//!
//! From the claim on an operation runs detached from the client's connection. If its task is dropped
//! all the same, its connection is closed and the database rolls back. With `panic = "abort"` a panic
//! ends the process, to the same effect.
//!
//! A blocking handler cannot be dropped: after its time-out, or if its task is dropped, it runs to its end, and its
//! pool then closes its connection. Until then its key is in flight.
//!
//! In lease mode a task that is dropped leaves its claim, which is unresolved once the lease has run
//! out; the transaction of a step that was running is rolled back. A handler is dropped at its next
//! `.await` when it has taken longer than its `timeout`, when its claim has been lost, and when the
//! lease could not be renewed for five sixths of its length: before anybody else may take the claim
//! over. One that blocks its thread cannot be dropped. What it does in steps is then refused, and its
//! response is not recorded.
//!
//! # Features
//!
//! | name | what it does | default |
//! |---|---|---|
//! | `postgres` | `AsyncPgConnection` | yes |
//! | `mysql` | `AsyncMysqlConnection` | no |
//! | `sqlite` | `SyncConnectionWrapper<SqliteConnection>` | no |
//! | `bb8` | diesel-async's bb8 pool | yes |
//! | `deadpool` | diesel-async's deadpool pool | no |
//! | `r2d2` | diesel's `r2d2` pool, for blocking handlers | no |
//! | `postgres-blocking` | diesel's `PgConnection`, over libpq; brings `postgres` and `r2d2` | no |
//! | `mysql-blocking` | diesel's `MysqlConnection`, over the system's libmariadb or libmysqlclient; brings `mysql` and `r2d2` | no |
//! | `openapi` | writes the contract into a `utoipa` document | no |
//! | `encryption` | [`EncryptionKeys`](https://docs.rs/idem-runtime), which seal what is stored with XChaCha20-Poly1305 | no |
//! | `zstd` | `Builder::compress_over`; compiles the zstd library, which is C | no |
//! | `nats` | the outbox's publisher for NATS JetStream, on `async-nats` | no |
//! | `rabbitmq` | the outbox's publisher for RabbitMQ, on `lapin` | no |
//! | `webhook` | the outbox's publisher for webhooks, on `reqwest` | no |
//!
//! None of the last three brings TLS: that is the choice of the application, which enables it on its own
//! dependency on the client.

#![cfg_attr(
    not(all(feature = "postgres", feature = "sqlite", feature = "r2d2")),
    allow(
        dead_code,
        reason = "one backend alone does not use all that they share"
    )
)]

#[doc(hidden)]
pub mod private;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

mod run;

mod lease;
mod status;
mod workers;

mod admission;
mod attempt;
mod blocking;
mod claim;
mod operation;
mod reach;
mod supervise;

mod inflight;
mod transaction;

mod store;

mod redact;
mod response;

mod seal;

mod body;

mod canonical;
mod digest;
mod fingerprint;

mod horizon;
mod key;
mod scope;

mod defects;

mod describe;
mod described;

pub mod inbox;
pub mod inspect;
pub mod migrations;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod outbox;
pub mod policy;
pub mod pool;
pub mod problem;
pub mod telemetry;
pub mod testing;

mod builder;
mod idempotency;
mod retry;

#[cfg(test)]
mod instructions;

pub use idem_macros::idempotent;

pub use blocking::Blocking;
pub use builder::{BuildError, Builder};
pub use describe::{Description, describe};
pub use idempotency::Idempotency;
pub use key::IdempotencyKey;
pub use lease::{KeptRequest, Resumed, StepError, Steps};
pub use policy::{IdempotencyPolicy, policies};
pub use retry::Retry;
pub use scope::Account;
#[cfg(feature = "encryption")]
pub use seal::{DuplicateKeyId, EncryptionKeys};
pub use seal::{Seal, SealError, Sealed};
pub use store::{Backend, BlockingBackend, Pruner, prune};
pub use workers::{
    Reconciler, RecordedResponse, UnresolvedOperation, Verdict, Worker, settle, unresolved,
    unresolved_operation,
};
