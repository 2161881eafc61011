//! Settling unresolved operations: the application says how each ended, and that is its answer from
//! then on.
//!
//! No SQL.

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use diesel::QueryResult;
use diesel::result::Error;
use futures_util::future::join_all;
use serde::Serialize;
use tokio::time::Instant;

use super::{BATCH, Stopping, UnresolvedOperation, Worker};
use crate::idempotency::{Idempotency, Settings};
use crate::policy::policies;
use crate::reach::{Reach, Unreached};
use crate::response::{DamagedResponse, StoredResponse, UNREPLAYED, written};
use crate::seal::Packing;
use crate::store::lease::Duty;
use crate::store::{Backend, lease};
use crate::supervise::{Ran, supervise};
use crate::telemetry::{RECONCILED, count, unreadable};

/// How long a reconciler may think about one operation.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Finds out how an unresolved operation ended, for example by asking the payment provider for the
/// charge with the [derived](crate::IdempotencyKey::derive) key.
///
/// ```
/// use actix_web::http::StatusCode;
/// use idem_runtime::{Reconciler, RecordedResponse, UnresolvedOperation, Verdict};
/// # struct Provider;
/// # impl Provider { async fn charge(&self, _: &str) -> Result<Option<String>, ()> { Ok(None) } }
///
/// struct Charges(Provider);
///
/// impl Reconciler for Charges {
///     async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
///         match self.0.charge(&operation.key().derive("charge")).await {
///             Ok(Some(receipt)) => Verdict::Completed(
///                 RecordedResponse::new(StatusCode::CREATED).body(receipt),
///             ),
///             Ok(None) => Verdict::Released,
///             Err(_) => Verdict::Unknown,
///         }
///     }
/// }
/// ```
pub trait Reconciler: 'static {
    /// Says what became of an operation, within a minute. It is called again, after a longer pause each
    /// time, until it knows. It may be called for several operations at the same time, and by several
    /// replicas for the same one: the first verdict counts.
    fn reconcile(&self, operation: &UnresolvedOperation) -> impl Future<Output = Verdict>;
}

/// What became of an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Verdict {
    /// It is done, and this is its response, which every retry gets from now on.
    Completed(RecordedResponse),
    /// It was not done, and may be run again by the next retry, once. Where steps of it are finished they
    /// stay so. The key is for the same request only: a call may still be on its way.
    Released,
    /// Nobody knows yet.
    Unknown,
}

/// A response to be recorded for an operation whose handler has not given one.
#[derive(Debug, Clone)]
pub struct RecordedResponse {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<Bytes>,
}

impl RecordedResponse {
    /// One with this status, without a body. It must be a final one: 200 or above.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: None,
        }
    }

    /// Adds a header. Those that no replay has, such as `Set-Cookie`, are left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets a JSON body and its media type.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON.
    pub fn json(self, value: &impl Serialize) -> serde_json::Result<Self> {
        let body = serde_json::to_vec(value)?;
        let json = HeaderValue::from_static("application/json");
        Ok(self.header(CONTENT_TYPE, json).body(body))
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Its headers, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.headers.iter().map(|(name, value)| (name, value))
    }

    /// Its body; `None` is a response without one, which is not the same as an empty one.
    #[must_use]
    pub fn content(&self) -> Option<&[u8]> {
        self.body.as_deref()
    }

    pub(crate) fn of_stored(stored: &StoredResponse) -> Result<Self, DamagedResponse> {
        Ok(Self {
            status: stored.status()?,
            headers: stored.headers()?,
            body: stored.body.clone(),
        })
    }

    fn stored(self) -> StoredResponse {
        let unreplayed = UNREPLAYED.map(HeaderName::from_static);
        let mut response = HttpResponse::new(self.status);
        for (name, value) in self.headers {
            response.headers_mut().append(name, value);
        }
        StoredResponse {
            status: self.status.as_u16(),
            headers: written(response.headers(), &unreplayed),
            body: self.body,
        }
    }
}

/// Settles an unresolved operation as it was seen. It says `false` where that was not to be done any
/// more: a retry has taken the operation over, its late owner has renewed its lease or recorded a response,
/// or somebody else has settled it.
///
/// The response is honoured for `retain` from now on. It is stored as it is given:
/// [`Idempotency::settle`] also seals it.
///
/// # Errors
///
/// The database's error; whether the verdict has taken effect is then unknown, and it may be given
/// again.
pub async fn settle<C: Backend>(
    connection: &mut C,
    operation: &UnresolvedOperation,
    verdict: Verdict,
    retain: Duration,
) -> QueryResult<bool> {
    settle_packed(
        connection,
        &Packing::of_nobody(),
        operation,
        verdict,
        retain,
    )
    .await
}

async fn settle_packed<C: Backend>(
    connection: &mut C,
    packing: &Packing,
    operation: &UnresolvedOperation,
    verdict: Verdict,
    retain: Duration,
) -> QueryResult<bool> {
    match verdict {
        Verdict::Completed(response) if response.status.is_informational() => {
            tracing::error!("a response with an informational status settles nothing");
            Ok(false)
        }
        Verdict::Completed(response) => {
            let stored = packing.pack(operation.context(), response.stored());
            let stored = stored.map_err(|error| Error::SerializationError(Box::new(error)))?;
            lease::settle(connection, operation.seen, &stored, retain).await
        }
        Verdict::Released => lease::release(connection, operation.seen).await,
        Verdict::Unknown => Ok(false),
    }
}

impl<C: Backend> Idempotency<C> {
    /// The same as [`settle`], and packs the response as those of the application's handlers are: compressed and
    /// [sealed](crate::Builder::seal).
    ///
    /// # Errors
    ///
    /// The database's error; whether the verdict has taken effect is then unknown, and it may be given again. Or
    /// `SerializationError`: the response could not be sealed, and nothing has changed.
    pub async fn settle(
        &self,
        connection: &mut C,
        operation: &UnresolvedOperation,
        verdict: Verdict,
        retain: Duration,
    ) -> QueryResult<bool> {
        let packing = &self.settings().packing;
        settle_packed(connection, packing, operation, verdict, retain).await
    }

    /// Starts a worker that offers the unresolved operations to the application, save those that the
    /// [completion worker](Self::spawn_completion) drives. Any number of replicas may have one.
    ///
    /// A settled response is honoured for as long as the longest `retain` of an endpoint in lease mode.
    ///
    /// # Panics
    ///
    /// Outside of an actix runtime, such as that of `#[actix_web::main]`.
    pub fn spawn_reconciler(&self, reconciler: impl Reconciler) -> Worker {
        let settings = Arc::clone(self.settings());
        Worker::start(
            "reconciler",
            settings.worker_interval,
            async move |stopping| {
                let turned = turn(&settings, &reconciler, stopping).await;
                if turned.is_err() {
                    tracing::warn!("the reconciler's turn is put off");
                }
                turned
            },
        )
    }
}

/// Offers what is due, until there is no more of it.
async fn turn<C: Backend>(
    settings: &Settings<C>,
    reconciler: &impl Reconciler,
    stopping: &Stopping,
) -> Result<(), Unreached> {
    while !stopping.is_stopped() {
        let due = due(settings, Duty::Reconcile).await?;
        let is_last = due.len() < BATCH as usize;
        // Half of what is known would be worse than nothing.
        let readable = due.iter().filter(|one| !one.is_unreadable_here());
        let offers = readable.map(|one| offer(settings, reconciler, one));
        join_all(offers)
            .await
            .into_iter()
            .collect::<Result<(), _>>()?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Asks about one operation, and settles it. A reconciler that panics does not know, like one that
/// takes too long.
async fn offer<C: Backend>(
    settings: &Settings<C>,
    reconciler: &impl Reconciler,
    operation: &UnresolvedOperation,
) -> Result<(), Unreached> {
    let endpoint = operation.endpoint();
    let deadline = Instant::now() + TIMEOUT;
    // Also what makes the future may panic.
    let reconciling = async { reconciler.reconcile(operation).await };
    let verdict = match supervise(deadline, reconciling).await {
        Ran::Finished(verdict) => verdict,
        Ran::Panicked => {
            tracing::error!(endpoint, "the reconciler panicked");
            Verdict::Unknown
        }
        Ran::TimedOut => {
            tracing::error!(endpoint, "the reconciler timed out");
            Verdict::Unknown
        }
    };
    let reconciled = |result| count(RECONCILED, "result", result);
    let result = match &verdict {
        Verdict::Completed(_) => "completed",
        Verdict::Released => "released",
        Verdict::Unknown => {
            reconciled("unknown");
            return Ok(());
        }
    };
    let packing = &settings.packing;
    let settle = async |connection: &mut C| {
        settle_packed(connection, packing, operation, verdict.clone(), retain()).await
    };
    let settled = Reach::new(settings, endpoint).ask(settle).await;
    let (_, settled) = settled.inspect_err(|_| reconciled("failed"))?;
    reconciled(if settled { result } else { "late" });
    tracing::info!(endpoint, settled, "reconciled");
    Ok(())
}

/// The operations that are this worker's now.
pub(super) async fn due<C: Backend>(
    settings: &Settings<C>,
    duty: Duty,
) -> Result<Vec<UnresolvedOperation>, Unreached> {
    let pause = settings.worker_interval;
    let due = async |connection: &mut C| lease::due(connection, duty, pause, BATCH).await;
    let (_, due) = Reach::new(settings, "workers").ask(due).await?;
    let due = due.into_iter();
    let due = due.filter_map(|row| UnresolvedOperation::new(row, &settings.packing));
    Ok(due
        .inspect(|operation| {
            if let Some(error) = operation.unreadable() {
                unreadable(operation.endpoint(), error);
            }
        })
        .collect())
}

/// The row does not say how long its endpoint retains. Too long harms nobody.
fn retain() -> Duration {
    let leased = policies()
        .into_iter()
        .filter(|policy| policy.lease.is_some());
    let longest = leased.map(|policy| policy.retain).max();
    longest.unwrap_or(Duration::from_secs(24 * 60 * 60))
}
