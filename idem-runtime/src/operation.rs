//! One protected request: what is known of it before the claim, and how it is compared with a record.
//!
//! No SQL, no order of steps.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse};
use tokio::time::{Instant, sleep};

use crate::body;
use crate::defects::{Defect, is_seeded};
use crate::fingerprint::{Fingerprint, Subject};
use crate::horizon::Horizon;
use crate::idempotency::Settings;
use crate::key::IdempotencyKey;
use crate::policy::{IdempotencyPolicy, InFlight, Scope};
use crate::problem::Problem;
use crate::reach::{self, Reach, Unreached};
use crate::response::{StoredResponse, capture, replay};
use crate::scope::OperationId;
use crate::seal::Context;
use crate::status;
use crate::store::{Backend, Claim, NewRecord, Record};
use crate::supervise::{Ran, supervise};
use crate::telemetry::{Outcome, Tally, unreadable};

/// The answer to a request that did not get the handler's own.
pub(crate) enum Refusal {
    /// One of ours.
    Ours(Problem),
    /// An extractor's or a resolver's.
    Theirs(HttpResponse),
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Ours(problem) => problem.status(),
            Self::Theirs(response) => response.status(),
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Ours(problem)
    }
}

impl From<Unreached> for Refusal {
    fn from(unreached: Unreached) -> Self {
        Self::Ours(unreached.into())
    }
}

impl From<actix_web::Error> for Refusal {
    fn from(error: actix_web::Error) -> Self {
        Self::Theirs(HttpResponse::from_error(error))
    }
}

/// One protected request.
pub(crate) struct Operation<C> {
    pub(crate) settings: Arc<Settings<C>>,
    pub(crate) policy: &'static IdempotencyPolicy,
    pub(crate) request: HttpRequest,
    pub(crate) endpoint: String,
    pub(crate) body: Bytes,
    pub(crate) tally: Tally,
}

/// What a key adds to it.
pub(crate) struct Keyed {
    pub(crate) claim: Claim,
    pub(crate) fingerprint: Fingerprint,
    /// As the handler's extractors see it.
    pub(crate) name: IdempotencyKey,
    subject: Subject,
}

impl Keyed {
    /// What is stored of it in a row of its own is stored for this.
    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            scope: &self.claim.scope,
            key: &self.claim.key,
            fingerprint: self.fingerprint.as_bytes(),
        }
    }
}

impl<C: Backend> Operation<C> {
    pub(crate) fn new(
        settings: Arc<Settings<C>>,
        policy: &'static IdempotencyPolicy,
        request: HttpRequest,
        endpoint: String,
        body: Bytes,
        tally: Tally,
    ) -> Self {
        Self {
            settings,
            policy,
            endpoint,
            request,
            body,
            tally,
        }
    }

    /// Names the operation, and lets the handler's extractors see the name.
    pub(crate) fn keyed(&self, name: IdempotencyKey, id: OperationId) -> Keyed {
        let subject = Subject::new(&self.request, self.body.clone());
        let fingerprint = self
            .settings
            .secrets
            .fingerprint(&subject, self.policy.fingerprint);
        let claim = Claim {
            fingerprint_lock: id.fingerprint_lock(fingerprint.as_bytes()),
            id,
            scope: Arc::clone(&name.scope),
            key: Arc::clone(&name.key),
            horizon: Horizon::of(self.policy, &name.key),
        };
        self.request.extensions_mut().insert(name.clone());
        Keyed {
            claim,
            fingerprint,
            name,
            subject,
        }
    }

    /// Runs the handler's extractors over the buffered body, for as long as a handler may run.
    pub(crate) async fn extract<A: FromRequest>(
        &self,
        keyed: Option<&Keyed>,
    ) -> Result<A, Refusal> {
        let deadline = Instant::now() + self.policy.timeout;
        let mut payload = body::again(&self.body);
        let extracted = A::from_request(&self.request, &mut payload);
        let refused: actix_web::Error = match supervise(deadline, extracted).await {
            Ran::Finished(Ok(arguments)) => return Ok(arguments),
            Ran::Finished(Err(error)) => error.into(),
            Ran::Panicked => {
                tracing::error!(endpoint = self.endpoint, "an extractor panicked");
                return Err(self.ended_early(Problem::handler_failed()).into());
            }
            Ran::TimedOut => {
                tracing::error!(endpoint = self.endpoint, "the extractors timed out");
                return Err(self.ended_early(Problem::timed_out()).into());
            }
        };
        let response = HttpResponse::from_error(refused);
        if let Some(keyed) = keyed
            && self.policy.scope == Scope::Account
            && matches!(response.status().as_u16(), 400 | 415 | 422)
            && let Some(record) = self.look(keyed).await?
            && self.is_of(keyed, &record.fingerprint)?
        {
            return Err(Refusal::Theirs(self.replay(keyed, &record)?));
        }
        Err(Refusal::Theirs(response))
    }

    /// In the words of the endpoint's mode.
    fn ended_early(&self, problem: Problem) -> Problem {
        match self.policy.lease {
            Some(_) => problem.in_lease_mode(),
            None => problem,
        }
    }

    pub(crate) fn reach(&self) -> Reach<'_, C> {
        Reach::new(&self.settings, &self.endpoint)
    }

    /// What was accepted yesterday is not refused on retry because a validation depends on the time.
    /// A refusal stands only where it is known that nothing was recorded.
    pub(crate) async fn look(&self, keyed: &Keyed) -> Result<Option<Record>, Problem> {
        let look = async |connection: &mut C| C::look(connection, &keyed.claim).await;
        let (_, found) = self.reach().ask(look).await?;
        Ok(found)
    }

    /// The answer that a record gives to this request.
    pub(crate) fn answer_from(
        &self,
        keyed: &Keyed,
        record: &Record,
    ) -> Result<HttpResponse, Problem> {
        if self.is_of(keyed, &record.fingerprint)? {
            return self.replay(keyed, record);
        }
        Err(Problem::key_reused())
    }

    /// The answer to a duplicate whose first attempt is running.
    pub(crate) fn in_flight(&self, keyed: &Keyed) -> Refusal {
        self.tally.tell(Outcome::InFlight);
        match (self.policy.in_flight, &self.settings.status_path) {
            (InFlight::Accept, Some(path)) => {
                Refusal::Theirs(status::accepted(path, keyed.claim.id.row))
            }
            _ => Problem::in_flight().into(),
        }
    }

    /// Whether this fingerprint is of this request. Where nobody can tell, another process may: 503.
    pub(crate) fn is_of(&self, keyed: &Keyed, fingerprint: &[u8]) -> Result<bool, Problem> {
        if is_seeded(Defect::FingerprintNotCompared) {
            return Ok(true);
        }
        let secrets = &self.settings.secrets;
        secrets
            .matches(fingerprint, &keyed.fingerprint, &keyed.subject)
            .map_err(|error| {
                tracing::error!(endpoint = self.endpoint, %error, "a record cannot be compared");
                Problem::store_unavailable()
            })
    }

    fn replay(&self, keyed: &Keyed, record: &Record) -> Result<HttpResponse, Problem> {
        let context = Context {
            fingerprint: &record.fingerprint,
            ..keyed.context()
        };
        let unpacked = self.settings.packing.unpack(context, &record.response);
        let replayed =
            unpacked.and_then(|response| Ok(replay(&response, &self.settings.replayed_header)?));
        let response = replayed.map_err(|error| {
            unreadable(&self.endpoint, &error);
            error.problem()
        })?;
        self.tally.replayed(record.age, self.policy.retain);
        Ok(response)
    }

    /// Takes the handler's response apart, within the time that the handler has, and makes of it what is stored.
    pub(crate) async fn capture(
        &self,
        context: Context<'_>,
        deadline: Instant,
        response: HttpResponse,
    ) -> Result<(HttpResponse, StoredResponse), Problem> {
        let settings = &self.settings;
        let captured = capture(response, self.policy.response_limit, &settings.unreplayed);
        match supervise(deadline, captured).await {
            Ran::Finished(Ok((answer, stored))) => match stored.without(self.policy.redact) {
                Ok(stored) => return Ok((answer, self.packed(context, stored)?)),
                Err(error) => {
                    let error = Chain(&error);
                    tracing::error!(endpoint = self.endpoint, %error, "response not storable");
                }
            },
            Ran::Finished(Err(error)) => {
                tracing::error!(endpoint = self.endpoint, %error, "response not storable");
            }
            Ran::Panicked | Ran::TimedOut => {
                tracing::error!(endpoint = self.endpoint, "response body did not end");
            }
        }
        Err(Problem::response_not_storable())
    }

    /// Compressed, and sealed. A seal that cannot be made now may be at the next attempt.
    fn packed(
        &self,
        context: Context<'_>,
        response: StoredResponse,
    ) -> Result<StoredResponse, Problem> {
        let packed = self.settings.packing.pack(context, response);
        packed.map_err(|error| {
            tracing::error!(endpoint = self.endpoint, error = %Chain(&error), "response not sealed");
            Problem::store_unavailable()
        })
    }

    /// Counts a run that is to be made again.
    pub(crate) fn one_less(&self, retries: u32) -> Result<u32, Problem> {
        retries.checked_sub(1).ok_or_else(|| {
            tracing::error!(endpoint = self.endpoint, "no retries left");
            Problem::handler_failed()
        })
    }

    /// Waits for those whom a run has met, a little longer each time: run again at once, it would meet them again.
    pub(crate) async fn let_others_end(&self, retries: u32) {
        sleep(reach::PAUSE * (self.policy.retries - retries)).await;
    }

    /// The record of this response.
    pub(crate) fn new_record(
        &self,
        keyed: &Keyed,
        response: StoredResponse,
        over_expired: bool,
    ) -> NewRecord {
        NewRecord {
            claim: keyed.claim.clone(),
            endpoint: self.endpoint.clone(),
            stored: Arc::new(Record {
                fingerprint: keyed.fingerprint.as_bytes().to_vec(),
                response,
                age: Duration::ZERO,
            }),
            retain: self.policy.retain,
            over_expired,
        }
    }
}

/// An error with its sources.
pub(crate) struct Chain<'a>(pub(crate) &'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
