//! What an application says once: the builder and its checks.
//!
//! Settings only: nothing here handles a request.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::HeaderName;
use actix_web::{FromRequest, HttpRequest};

use crate::admission::Admission;
use crate::defects;
use crate::fingerprint::Secrets;
use crate::idempotency::{Idempotency, Settings};
use crate::inflight::Flights;
use crate::lease::{Heart, KEPT};
use crate::outbox::Bell;
use crate::policy::{IdempotencyPolicy, InFlight, Scope, policies};
use crate::pool::ConnectionPool;
use crate::problem::DEFAULT_BASE;
use crate::response::UNREPLAYED;
use crate::scope::{Account, Resolvers};
use crate::seal::{Packing, Seal};
use crate::status;
use crate::store::Backend;
use crate::telemetry::KeyDigests;
use crate::workers::Maintained;

pub(crate) const KEY_HEADER: &str = "Idempotency-Key";
pub(crate) const REPLAYED_HEADER: &str = "Idempotent-Replayed";

/// What an application says once about its protected endpoints.
#[must_use = "nothing is protected before `build()`"]
pub struct Builder<C> {
    pool: Arc<dyn ConnectionPool<C>>,
    pool_timeout: Duration,
    resolvers: Resolvers,
    secrets: Secrets,
    key_header: String,
    replayed_header: String,
    unreplayed: Vec<String>,
    strict_keys: bool,
    problem_base: String,
    status_path: Option<String>,
    resume_headers: Vec<String>,
    worker_interval: Duration,
    max_operations: usize,
    seal: Option<Arc<dyn Seal>>,
    opener: Option<Arc<dyn Seal>>,
    compress_over: Option<usize>,
}

impl<C> fmt::Debug for Builder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Builder(..)")
    }
}

/// Why protection cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// An endpoint needs a scope that nobody resolves.
    #[error(
        "{handler} needs the scope \"{scope}\", which nobody resolves; call `.account::<T>()`, \
         `.account_with(..)` or `.scope(\"{scope}\", ..)` on the builder"
    )]
    ScopeWithoutResolver {
        /// The endpoint's handler.
        handler: &'static str,
        /// The scope's name.
        scope: &'static str,
    },
    /// An endpoint names an isolation level on a backend that has only one.
    #[error("{handler} sets `isolation`, but its backend has only one isolation level")]
    IsolationWithoutChoice {
        /// The endpoint's handler.
        handler: &'static str,
    },
    /// The backend needs panics that unwind, and the program is built with `panic = "abort"`.
    #[error(
        "with panic = \"abort\" a handler's time-out would end the process on this backend; build with \
         unwinding panics"
    )]
    PanicAbort,
    /// An endpoint accepts duplicates, and nobody has said where they find out what became of them.
    #[error(
        "{handler} sets `in_flight = \"accept\"`, which needs a status resource; call `.status_path(..)` on \
         the builder and register `Idempotency::status_resource()`"
    )]
    AcceptWithoutStatusPath {
        /// The endpoint's handler.
        handler: &'static str,
    },
    /// The status path is not an absolute path without a parameter.
    #[error("\"{0}\" is not a path for the status resource: write one like \"/operations\"")]
    StatusPath(String),
    /// A header name is not one.
    #[error("\"{0}\" is not a header name")]
    HeaderName(String),
    /// A fingerprint secret is empty, has the id 0, or shares its id with another one.
    #[error("the fingerprint secret {0} is empty, has the reserved id 0, or its id is used twice")]
    Secret(u32),
}

impl<C: Backend> Builder<C> {
    pub(crate) fn new(pool: Arc<dyn ConnectionPool<C>>) -> Self {
        Self {
            pool,
            pool_timeout: Duration::from_secs(5),
            resolvers: Resolvers::default(),
            secrets: Secrets::default(),
            key_header: KEY_HEADER.to_owned(),
            replayed_header: REPLAYED_HEADER.to_owned(),
            unreplayed: UNREPLAYED.map(str::to_owned).to_vec(),
            strict_keys: false,
            problem_base: DEFAULT_BASE.to_owned(),
            status_path: None,
            resume_headers: Vec::new(),
            worker_interval: Duration::from_secs(5),
            max_operations: 10_000,
            seal: None,
            opener: None,
            compress_over: None,
        }
    }

    /// Names the authenticated identity by the extractor that reads it. Its own error is the answer
    /// to a request without one.
    ///
    /// The extractor runs on every protected request, before the body is read; it sees no body.
    pub fn account<T: FromRequest + Account + 'static>(mut self) -> Self {
        self.resolvers.extractor::<T>(Scope::Account.name());
        self
    }

    /// Names the authenticated identity by a function, for one that a middleware has already put
    /// into the request's extensions. `None` is answered with 401.
    pub fn account_with(
        mut self,
        account: impl Fn(&HttpRequest) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.resolvers.function(Scope::Account.name(), account);
        self
    }

    /// Resolves a scope of the application's own, for endpoints with `scope = "name"`. `None` is
    /// answered with 401.
    pub fn scope(
        mut self,
        name: &'static str,
        resolve: impl Fn(&HttpRequest) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.resolvers.function(name, resolve);
        self
    }

    /// How long a request waits for a pooled connection, or behind another request of its key that
    /// waits for one, before it gets 503; 5 s by default.
    pub fn pool_timeout(mut self, timeout: Duration) -> Self {
        self.pool_timeout = timeout;
        self
    }

    /// What the `type` URIs of our answers begin with; the code follows.
    pub fn problem_base(mut self, base: impl Into<String>) -> Self {
        self.problem_base = base.into();
        self
    }

    /// The header that carries the key; `Idempotency-Key` by default.
    pub fn key_header(mut self, name: impl Into<String>) -> Self {
        self.key_header = name.into();
        self
    }

    /// The header that marks a replay; `Idempotent-Replayed` by default.
    pub fn replayed_header(mut self, name: impl Into<String>) -> Self {
        self.replayed_header = name.into();
        self
    }

    /// The headers of a first response that a replay leaves out; `Date`, `Set-Cookie`,
    /// `WWW-Authenticate` and `Authentication-Info` by default. Hop-by-hop headers are always left out.
    pub fn unreplayed_headers<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.unreplayed = names.into_iter().map(Into::into).collect();
        self
    }

    /// Takes keys only as quoted RFC 9651 Strings, as the draft has it.
    pub fn strict_keys(mut self, strict: bool) -> Self {
        self.strict_keys = strict;
        self
    }

    /// Makes fingerprints with HMAC-SHA-256 under this secret, so that nobody who reads the table
    /// can test guesses of a body. The id is stored with each fingerprint; 0 is reserved.
    pub fn fingerprint_secret(mut self, id: u32, secret: impl Into<Vec<u8>>) -> Self {
        self.secrets.current = Some((id, secret.into()));
        self
    }

    /// Keeps an earlier secret for the records that were made with it. It is needed for as long as
    /// the longest `retain`.
    ///
    /// To change the secret of several processes, add the new one as retired everywhere first, and
    /// make it the current one after that: a process that meets a record whose secret it does not have
    /// answers 503. While processes with different current secrets run side by side, a duplicate that
    /// meets its first attempt in flight in the other kind of process gets 422 instead of 409.
    pub fn retired_fingerprint_secret(mut self, id: u32, secret: impl Into<Vec<u8>>) -> Self {
        self.secrets.retired.push((id, secret.into()));
        self
    }

    /// Where clients find [`Idempotency::status_resource`], such as `/operations`: the whole path, since the
    /// resource is registered with the application itself, before a scope that would take the path for its
    /// own. Needed for `in_flight = "accept"`.
    pub fn status_path(mut self, path: impl Into<String>) -> Self {
        self.status_path = Some(path.into());
        self
    }

    /// The headers that are kept with an accepted request for
    /// [`Idempotency::spawn_completion`], besides the key's, `Host`, `Accept`, `Accept-Language` and those
    /// that describe the body.
    ///
    /// They are stored with the claim until the response is recorded. A token among them is a secret in
    /// the table: see [`Resumed`](crate::Resumed) for how to do without.
    pub fn resume_headers<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.resume_headers = names.into_iter().map(Into::into).collect();
        self
    }

    /// How often a background worker looks for work, and how long it leaves an operation alone after the
    /// first look at it (after each further one twice as long, up to ten minutes); 5 s by default, and
    /// never under 10 ms or over a day. Expired records are pruned at every sixth turn.
    pub fn worker_interval(mut self, interval: Duration) -> Self {
        let (shortest, longest) = (Duration::from_millis(10), Duration::from_secs(24 * 60 * 60));
        self.worker_interval = interval.clamp(shortest, longest);
        self
    }

    /// How many protected requests this process works on or holds at once, once their bodies have been
    /// read; more get 503. 10,000 by default. (How many bodies are being read at once is bounded by the
    /// server's `max_connections`: a client that sends slowly takes nobody else's place.)
    pub fn max_operations(mut self, operations: usize) -> Self {
        self.max_operations = operations;
        self
    }

    /// Seals what is stored of an operation: headers and body of the response, and in lease mode the results of steps and
    /// the request that is kept for [`Idempotency::spawn_completion`]. Scope, key, endpoint, status, times and the names of
    /// steps stay readable, and so does everything that was stored before.
    ///
    /// What is sealed opens for its own scope, key and fingerprint only. Who can write into the table can still put an
    /// unsealed row in the place of a sealed one: a seal is for those who read it, and a copy of it. A short body can be
    /// guessed from its fingerprint: use [`fingerprint_secret`](Self::fingerprint_secret) as well.
    pub fn seal(mut self, seal: impl Seal) -> Self {
        self.seal = Some(Arc::new(seal));
        self
    }

    /// Opens what other processes seal, and seals nothing: for the deployment before the first one that
    /// [seals](Self::seal), and for as long as there is something sealed behind the last one. Without it a process answers
    /// 503 to the retry of an operation that another one has sealed. Where something is sealed as well, `seal` opens.
    pub fn open_sealed(mut self, seal: impl Seal) -> Self {
        self.opener = Some(Arc::new(seal));
        self
    }

    /// Compresses with zstd the body of a recorded response that has more bytes than this, before it is sealed. By default
    /// none is: PostgreSQL compresses what is not sealed by itself.
    ///
    /// Sealed or not, the length of a stored response tells something about it, and of a compressed one more: leave this off
    /// where one body holds a secret beside what a caller has chosen. A body is compressed, and inflated, up to the largest
    /// `response_limit` of the program, and always up to 16 MiB. Deploy the feature everywhere before it is used: a process
    /// without it answers 503 to the retry of what is compressed.
    #[cfg(feature = "zstd")]
    pub fn compress_over(mut self, bytes: usize) -> Self {
        self.compress_over = Some(bytes);
        self
    }

    /// Checks every endpoint registered for this kind of connection.
    ///
    /// Logs a warning where the process has not set up its connections with the functions of
    /// [`pool`](crate::pool).
    ///
    /// # Errors
    ///
    /// [`BuildError`], which names the endpoint.
    pub fn build(self) -> Result<Idempotency<C>, BuildError> {
        defects::announce();
        for policy in policies() {
            self.check(policy)?;
        }
        if C::NEEDS_UNWINDING && cfg!(panic = "abort") {
            return Err(BuildError::PanicAbort);
        }
        self.check_secrets()?;
        if !C::is_set_up() {
            tracing::warn!(
                "the pool's connections were not set up by idem_runtime::pool: without the \
                 database's time-outs a host that vanishes holds its keys (PostgreSQL), and \
                 without a busy time-out concurrent writers get 503 (SQLite)"
            );
        }
        let key_header = header(self.key_header)?;
        let mut kept_headers = headers(self.resume_headers)?;
        kept_headers.extend(KEPT);
        kept_headers.push(key_header.clone());
        Ok(Idempotency::new(Settings {
            status_path: self.status_path.map(status::checked).transpose()?,
            kept_headers,
            worker_interval: self.worker_interval,
            maintenance: Maintained::default(),
            heart: Heart::new(Arc::clone(&self.pool)),
            bell: Bell::new(Arc::clone(&self.pool)),
            pool: self.pool,
            pool_timeout: self.pool_timeout,
            resolvers: self.resolvers,
            key_digests: KeyDigests::new(
                self.secrets.current.as_ref().map(|(_, secret)| &**secret),
            ),
            secrets: self.secrets,
            key_header,
            replayed_header: header(self.replayed_header)?,
            unreplayed: headers(self.unreplayed)?,
            strict_keys: self.strict_keys,
            problem_base: self.problem_base.into(),
            packing: Packing::new(self.seal, self.opener, self.compress_over),
            flights: Flights::default(),
            admission: Admission::new(self.max_operations),
        }))
    }

    fn check(&self, policy: &IdempotencyPolicy) -> Result<(), BuildError> {
        // A handler in lease mode has no connection: it may be anybody's.
        if (policy.connection).is_some_and(|connection| connection() != TypeId::of::<C>()) {
            return Ok(());
        }
        if !self.resolvers.know(policy.scope) {
            return Err(BuildError::ScopeWithoutResolver {
                handler: policy.handler,
                scope: policy.scope.name(),
            });
        }
        if policy.isolation.is_some() && !C::ISOLATION {
            return Err(BuildError::IsolationWithoutChoice {
                handler: policy.handler,
            });
        }
        if policy.in_flight == InFlight::Accept && self.status_path.is_none() {
            return Err(BuildError::AcceptWithoutStatusPath {
                handler: policy.handler,
            });
        }
        Ok(())
    }

    fn check_secrets(&self) -> Result<(), BuildError> {
        let mut seen = vec![0];
        for (id, secret) in self.secrets.current.iter().chain(&self.secrets.retired) {
            if secret.is_empty() || seen.contains(id) {
                return Err(BuildError::Secret(*id));
            }
            seen.push(*id);
        }
        Ok(())
    }
}

fn headers(names: Vec<String>) -> Result<Vec<HeaderName>, BuildError> {
    names.into_iter().map(header).collect()
}

fn header(name: String) -> Result<HeaderName, BuildError> {
    name.parse().map_err(|_| BuildError::HeaderName(name))
}
