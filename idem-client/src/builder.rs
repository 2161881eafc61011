//! The settings of a client, and their checks.
//!
//! Nothing here sends.

use std::fmt;
use std::time::Duration;

use backon::ExponentialBuilder;
use reqwest::ClientBuilder;
use reqwest::header::HeaderName;
use reqwest::{redirect, retry};

use crate::attempt::Http;
use crate::client::IdempotentClient;
use crate::drive::Limits;
use crate::error::BuildError;
use crate::key::KeyForm;
use crate::operation::Keys;

/// The header of the draft, section 2.
const KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotent-replayed");
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
const BUDGET: Duration = Duration::from_secs(2 * 60);
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// The settings of an [`IdempotentClient`].
#[must_use]
pub struct Builder {
    http: ClientBuilder,
    keys: Keys,
    replayed_header: HeaderName,
    limits: Limits,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let backoff = ExponentialBuilder::new()
            .with_min_delay(FIRST_DELAY)
            .with_max_delay(LONGEST_DELAY)
            .without_max_times();
        Self {
            http: ClientBuilder::new(),
            keys: Keys {
                header: KEY_HEADER,
                form: KeyForm::default(),
            },
            replayed_header: REPLAYED_HEADER,
            limits: Limits {
                budget: BUDGET,
                attempt_timeout: ATTEMPT_TIMEOUT,
                backoff,
                retention: None,
            },
        }
    }

    /// The HTTP client below, of the application's making: certificates, proxies, default headers (a token that is not
    /// saved with an operation).
    ///
    /// It is a builder, because that it follows no redirects is not up to the application: a redirect of 307 or 308 would carry the
    /// key and the body to wherever the answer says, and one of 301 or 302 would make a `GET` of the request, whose answer is not
    /// the operation's. Nor does it retry by itself ([`ClientBuilder::retry`] is overruled): a second attempt in here that finds no
    /// connection would hide a first one that arrived.
    pub fn http(mut self, http: ClientBuilder) -> Self {
        self.http = http;
        self
    }

    /// The header that carries the key; `Idempotency-Key` unless set.
    pub fn key_header(mut self, name: HeaderName) -> Self {
        self.keys.header = name;
        self
    }

    /// How a key is written into it; [`KeyForm::Quoted`] unless set.
    pub fn key_form(mut self, form: KeyForm) -> Self {
        self.keys.form = form;
        self
    }

    /// The header by which the server marks a replay; `Idempotent-Replayed` unless set.
    pub fn replayed_header(mut self, name: HeaderName) -> Self {
        self.replayed_header = name;
        self
    }

    /// How long one attempt may take, from the connection to the last byte of the answer; 30 s unless set. Longer than the server takes
    /// at its slowest, or it is asked again and again for what it is still doing.
    pub fn attempt_timeout(mut self, time: Duration) -> Self {
        self.limits.attempt_timeout = time;
        self
    }

    /// How long one call may take, with all its attempts and pauses; 2 minutes unless set. The call is over by then, whatever
    /// the server does.
    pub fn budget(mut self, time: Duration) -> Self {
        self.limits.budget = time;
        self
    }

    /// The delays between attempts; unless set they begin at 1 s and double up to 30 s, without a limit of their number.
    ///
    /// Each pause is a random part of its delay, from nothing to all of it ("full jitter"): leave backon's own jitter off, it
    /// would come on top. What the server asks for with `Retry-After` is added. (Where backon is not told otherwise, three pauses are
    /// enough: `without_max_times` leaves the end to the budget.)
    pub fn backoff(mut self, backoff: ExponentialBuilder) -> Self {
        self.limits.backoff = backoff;
        self
    }

    /// How long the server retains what became of a key, as it publishes it (the
    /// [shortest](crate::published::shortest_retention) of its endpoints, or say it per
    /// [request](crate::Request::retention)); not known unless set.
    ///
    /// Nothing is sent that is nearly as old as that, because it might be done a second time. A budget that is longer is worth a
    /// warning in the log.
    pub fn retention(mut self, time: Duration) -> Self {
        self.limits.retention = Some(time);
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// The HTTP client cannot be built, or the budget or the time of an attempt is nothing.
    pub fn build(self) -> Result<IdempotentClient, BuildError> {
        if self.limits.budget.is_zero() || self.limits.attempt_timeout.is_zero() {
            return Err(BuildError::NoTime);
        }
        if let Some(retention) = self.limits.retention {
            warn_of(self.limits.budget, retention);
        }
        let client = self.http.redirect(redirect::Policy::none());
        let client = client.retry(retry::never());
        let http = Http {
            client: client.build().map_err(BuildError::Http)?,
            replayed_header: self.replayed_header,
        };
        Ok(IdempotentClient::new_with(http, self.keys, self.limits))
    }
}

/// Not what the application has put into the HTTP client: default headers may hold a token.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("keys", &self.keys)
            .field("replayed_header", &self.replayed_header)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A retry that comes behind the retention is a second operation to the server.
pub(crate) fn warn_of(budget: Duration, retention: Duration) {
    if budget > retention {
        tracing::warn!(
            budget_ms = budget.as_millis(),
            retention_ms = retention.as_millis(),
            "the retry budget is longer than the server retains keys for; attempts end with the retention"
        );
    }
}
