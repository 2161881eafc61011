//! The value that goes into the app's data, and the settings in it.
//!
//! Settings only: nothing here handles a request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::HeaderName;
use actix_web::{HttpRequest, web};

use crate::admission::Admission;
use crate::builder::Builder;
use crate::fingerprint::Secrets;
use crate::inflight::Flights;
use crate::lease::Heart;
use crate::outbox::Bell;
use crate::pool::ConnectionPool;
use crate::scope::Resolvers;
use crate::seal::Packing;
use crate::store::Backend;
use crate::telemetry::KeyDigests;
use crate::workers::Maintained;

/// Protection for the handlers whose connection is a `C`.
///
/// Make one per process, before `HttpServer::new`, and give a clone of it to every worker as
/// `web::Data`: what is in flight is known per value.
///
/// # Examples
///
/// ```
/// # #[cfg(all(feature = "postgres", feature = "bb8"))]
/// # mod example {
/// use diesel_async::AsyncPgConnection;
/// use diesel_async::pooled_connection::AsyncDieselConnectionManager;
/// use diesel_async::pooled_connection::bb8::Pool;
/// use idem_runtime::{Idempotency, pool};
///
/// # async fn make(url: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new_with_config(
///     url,
///     pool::postgres_config(),
/// );
/// let pool = Pool::builder().max_size(16).build(manager).await?;
/// let idempotency = Idempotency::builder(pool)
///     .account_with(|request| {
///         let user = request.headers().get("x-authenticated-user")?;
///         user.to_str().ok().map(str::to_owned)
///     })
///     .build()?;
/// # let _ = idempotency;
/// # Ok(())
/// # }
/// # }
/// ```
pub struct Idempotency<C>(Arc<Settings<C>>);

pub(crate) struct Settings<C> {
    pub(crate) pool: Arc<dyn ConnectionPool<C>>,
    pub(crate) pool_timeout: Duration,
    pub(crate) resolvers: Resolvers,
    pub(crate) secrets: Secrets,
    pub(crate) key_header: HeaderName,
    pub(crate) replayed_header: HeaderName,
    pub(crate) unreplayed: Vec<HeaderName>,
    pub(crate) strict_keys: bool,
    pub(crate) problem_base: Arc<str>,
    /// Where the status resource is, if there is one.
    pub(crate) status_path: Option<String>,
    /// The headers that are kept with a request for the completion worker.
    pub(crate) kept_headers: Vec<HeaderName>,
    /// How often the workers look for work.
    pub(crate) worker_interval: Duration,
    pub(crate) maintenance: Maintained,
    pub(crate) heart: Heart<C>,
    /// Wakes relays.
    pub(crate) bell: Bell<C>,
    /// How what is stored is packed.
    pub(crate) packing: Packing,
    pub(crate) flights: Flights,
    pub(crate) admission: Admission,
    pub(crate) key_digests: KeyDigests,
}

impl<C> Clone for Idempotency<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> fmt::Debug for Idempotency<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Idempotency(..)")
    }
}

impl<C: Backend> Idempotency<C> {
    /// Starts with a pool and the defaults.
    pub fn builder(pool: impl ConnectionPool<C>) -> Builder<C> {
        Builder::new(pool.shared())
    }

    pub(crate) fn new(settings: Settings<C>) -> Self {
        Self(Arc::new(settings))
    }

    /// The settings in this request's app data.
    pub(crate) fn of(request: &HttpRequest) -> Option<Arc<Settings<C>>> {
        request.app_data::<web::Data<Self>>().map(|data| {
            data.0.maintenance.notice();
            Arc::clone(&data.0)
        })
    }

    pub(crate) fn settings(&self) -> &Arc<Settings<C>> {
        &self.0
    }
}
