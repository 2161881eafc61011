//! Lease mode, for handlers that call the outside world: the order of its steps. The claim is
//! committed as a pending row before the handler runs, and no connection is held while it runs; a
//! lease on the claim is renewed from elsewhere, and the record is written only by who still owns it.
//!
//! No SQL, no body bytes.

#![cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    allow(unused, reason = "without a backend nothing can run")
)]

mod attempt;
mod claim;
mod heartbeat;
mod holding;
mod insist;
mod kept;
mod steps;

use std::sync::Arc;

use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse};

#[cfg(feature = "r2d2")]
use crate::blocking::Blocking;
use crate::claim::Patience;
use crate::idempotency::{Idempotency, Settings};
use crate::operation::{Keyed, Operation, Refusal};
use crate::policy::{IdempotencyPolicy, LeasePolicy};
use crate::private::Incoming;
use crate::problem::Problem;
use crate::run::{admit, unconfigured};
use crate::store::Backend;

use claim::Claimed;

pub(crate) use heartbeat::Heart;
pub(crate) use holding::Switch;
pub(crate) use kept::KEPT;
pub use kept::{KeptRequest, Resumed};
pub use steps::StepError;
#[cfg(not(feature = "postgres"))]
pub use steps::Steps;
pub(crate) use steps::{DamagedLine, Finished, SealedResult, StepLine, lines, names};
#[cfg(any(test, fuzzing))]
pub(crate) use {
    kept::written,
    steps::{Asked, Log},
};

#[doc = include_str!("steps/steps.md")]
///
/// # Backends
///
/// Without a parameter they are those of PostgreSQL; on SQLite write `Steps<YourConnection>`.
#[cfg(feature = "postgres")]
pub type Steps<C = diesel_async::AsyncPgConnection> = steps::Steps<C>;

/// Runs one handler in lease mode for one request. From the claim on it runs detached.
///
/// The handler has no connection that would name its backend: it is the one whose `Idempotency` is
/// in the app's data.
pub async fn run<A, F>(
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    handler: F,
) -> HttpResponse
where
    A: FromRequest + 'static,
    F: AsyncFn(A, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    let Some(lease) = policy.lease else {
        return unconfigured(&incoming.request, policy, "_");
    };
    macro_rules! on {
        ($connection:ty) => {
            if let Some(settings) = Idempotency::<$connection>::of(&incoming.request) {
                return run_on(settings, incoming, policy, lease, handler).await;
            }
        };
    }
    #[cfg(feature = "postgres")]
    on!(diesel_async::AsyncPgConnection);
    #[cfg(feature = "mysql")]
    on!(diesel_async::AsyncMysqlConnection);
    #[cfg(feature = "sqlite")]
    on!(diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>);
    #[cfg(feature = "postgres-blocking")]
    on!(Blocking<diesel::PgConnection>);
    #[cfg(feature = "mysql-blocking")]
    on!(Blocking<diesel::MysqlConnection>);
    #[cfg(all(feature = "sqlite", feature = "r2d2"))]
    on!(Blocking<diesel::SqliteConnection>);
    unconfigured(&incoming.request, policy, "_")
}

async fn run_on<C, A, F>(
    settings: Arc<Settings<C>>,
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    lease: LeasePolicy,
    handler: F,
) -> HttpResponse
where
    C: Backend,
    A: FromRequest + 'static,
    F: AsyncFn(A, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    admit(settings, incoming, policy, async move |operation, name| {
        match name {
            Some((name, id)) => {
                let keyed = operation.keyed(name, id);
                leased(&operation, &keyed, lease, handler).await
            }
            // The attribute refuses `key = "optional"` in this mode.
            None => Err(Problem::misconfigured().into()),
        }
    })
    .await
}

/// Extractors, claim, mismatch, in flight, replay, run.
async fn leased<C, A, F>(
    operation: &Operation<C>,
    keyed: &Keyed,
    lease: LeasePolicy,
    handler: F,
) -> Result<HttpResponse, Refusal>
where
    C: Backend,
    A: FromRequest + 'static,
    F: AsyncFn(A, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    let steps = steps::Steps::new(operation, keyed);
    operation.request.extensions_mut().insert(steps.clone());
    // Before the claim: a refusal leaves no trace.
    let arguments: A = operation.extract(Some(keyed)).await?;
    let mut patience = Patience::new(operation.policy.in_flight);
    let holding = match claim::settle(operation, keyed, lease, &steps, &mut patience).await? {
        Claimed::Ours(holding) => holding,
        Claimed::Recorded(record) => return Ok(operation.answer_from(keyed, &record)?),
    };
    operation.request.extensions_mut().insert(holding.switch());
    attempt::run(
        operation, keyed, lease, &holding, &steps, arguments, handler,
    )
    .await
}
