//! The order of the steps of a protected request. Read it beside the table of answers in the README.
//!
//! No SQL, no body bytes.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{FromRequest, HttpRequest, HttpResponse};
use diesel::result::{DatabaseErrorKind, Error};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::attempt::{self, Attempt};
use crate::body::{self, BodyError};
use crate::idempotency::{Idempotency, Settings};
use crate::inflight::Entered;
use crate::key::{self, IdempotencyKey, KeyError};
use crate::operation::{Keyed, Operation, Refusal};
use crate::policy::{IdempotencyPolicy, InFlight, KeyRule};
use crate::private::Incoming;
use crate::problem::{DEFAULT_BASE, Problem};
use crate::store::{Backend, Claimed};

/// A claim that failed has done nothing yet. It is made again at once where another connection or
/// another moment may help: after a restart of the database a pool is full of dead connections.
const CLAIM_TRIES: u32 = 5;

/// Runs one protected handler for one request.
///
/// From the claim on it runs detached: a client that hangs up still gets its answer on retry. If the
/// task is dropped all the same, the connection is closed and the database rolls back.
pub async fn run<C, A, F>(
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    handler: F,
) -> HttpResponse
where
    C: Backend,
    A: FromRequest + 'static,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    let Some(settings) = Idempotency::<C>::of(&incoming.request) else {
        tracing::error!(
            handler = policy.handler,
            "no web::Data<Idempotency<{}>> in the app's data; the handler was not entered",
            std::any::type_name::<C>()
        );
        return Problem::misconfigured().respond(DEFAULT_BASE);
    };
    match admit(Arc::clone(&settings), incoming, policy, handler).await {
        Ok(response) | Err(Refusal::Theirs(response)) => response,
        Err(Refusal::Ours(problem)) => problem.respond(&settings.problem_base),
    }
}

/// Method, key, scope, body; then the rest, detached.
async fn admit<C, A, F>(
    settings: Arc<Settings<C>>,
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    handler: F,
) -> Result<HttpResponse, Refusal>
where
    C: Backend,
    A: FromRequest + 'static,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    let Incoming { request, payload } = incoming;
    if request.method().is_safe() {
        tracing::error!(
            handler = policy.handler,
            method = %request.method(),
            "a safe method reached a protected handler; it was not entered"
        );
        return Err(Problem::misconfigured().into());
    }
    let name = name(&settings, policy, &request).await?;
    let body = body::read(&request, payload, policy.body_limit)
        .await
        .map_err(|error| match error {
            BodyError::TooLarge(limit) => Problem::request_too_large(limit).into(),
            BodyError::Read(error) => Refusal::from(error),
        })?;
    let Ok(permit) = Arc::clone(&settings.operations).try_acquire_owned() else {
        tracing::error!(handler = policy.handler, "max_operations reached");
        return Err(Problem::store_unavailable().into());
    };
    let operation = Operation::new(settings, policy, request, body);
    let detached = actix_web::rt::spawn(async move {
        let _permit = permit;
        match name {
            Some(name) => {
                let keyed = operation.keyed(name);
                protected(&operation, &keyed, handler).await
            }
            None => unprotected(&operation, handler).await,
        }
    });
    detached.await.unwrap_or_else(|error| {
        tracing::error!(handler = policy.handler, %error, "the operation was dropped");
        Err(Problem::handler_failed().into())
    })
}

/// Key, then scope. `None`: the endpoint allows a request without a key.
async fn name<C>(
    settings: &Settings<C>,
    policy: &IdempotencyPolicy,
    request: &HttpRequest,
) -> Result<Option<IdempotencyKey>, Refusal> {
    let key = match key::parse(
        request.headers(),
        &settings.key_header,
        settings.strict_keys,
    ) {
        Ok(key) => key,
        Err(KeyError::Missing) if policy.key == KeyRule::Optional => return Ok(None),
        Err(error) => return Err(Problem::key(error).into()),
    };
    let scope = settings
        .resolvers
        .resolve(policy.scope, request)
        .await?
        .ok_or_else(Problem::scope_unresolved)?;
    Ok(Some(IdempotencyKey { key, scope }))
}

/// Extractors, claim, mismatch, in flight, replay, run.
async fn protected<C, A, F>(
    operation: &Operation<C>,
    keyed: &Keyed,
    handler: F,
) -> Result<HttpResponse, Refusal>
where
    C: Backend,
    A: FromRequest + 'static,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    let policy = operation.policy;
    let mut patience = Patience::new(policy.in_flight);
    let mut retries = policy.retries;
    let mut claim_tries = CLAIM_TRIES;
    let mut extracted = None;
    loop {
        // Before a connection is taken: an extractor may need one of its own.
        let arguments: A = match extracted.take() {
            Some(arguments) => arguments,
            None => operation.extract(Some(keyed)).await?,
        };
        let flights = &operation.settings.flights;
        let first = match flights.enter(keyed.claim.id.row, &keyed.fingerprint).await {
            Entered::First(first) => first,
            Entered::Recorded(record) => return Ok(operation.answer_from(keyed, &record)?),
            Entered::KeyHeld => {
                operation.tell("mismatch");
                return Err(Problem::key_reused().into());
            }
            Entered::Behind(first) => {
                patience.outlast(operation, first.over()).await?;
                extracted = Some(arguments);
                continue;
            }
            Entered::Elsewhere => {
                patience.pause(operation).await?;
                extracted = Some(arguments);
                continue;
            }
        };
        let mut connection = operation.lend().await?;
        let claimed = C::claim(&mut connection, &keyed.claim, policy.isolation).await;
        let over_expired = match claimed {
            Ok(Claimed::Free { over_expired }) => over_expired,
            Ok(Claimed::Recorded(record)) => {
                let record = Arc::new(record);
                first.recorded(Arc::clone(&record));
                attempt::undo(operation, &mut connection).await;
                return Ok(operation.answer_from(keyed, &record)?);
            }
            Ok(Claimed::KeyHeld) => {
                attempt::undo(operation, &mut connection).await;
                operation.tell("mismatch");
                return Err(Problem::key_reused().into());
            }
            Ok(Claimed::InFlight) => {
                attempt::undo(operation, &mut connection).await;
                drop(connection);
                first.elsewhere();
                patience.pause(operation).await?;
                extracted = Some(arguments);
                continue;
            }
            Err(error) if claim_tries > 0 && may_pass(&error) => {
                claim_tries -= 1;
                extracted = Some(arguments);
                continue;
            }
            Err(error) => {
                tracing::error!(endpoint = operation.endpoint, %error, "the claim failed");
                return Err(Problem::store_unavailable().into());
            }
        };
        first.running();
        let ended = attempt::protected(
            operation,
            keyed,
            over_expired,
            &mut connection,
            arguments,
            handler,
        )
        .await;
        drop(connection);
        match ended {
            Attempt::Recorded(answer, record) => {
                first.recorded(Arc::new(record));
                return Ok(answer);
            }
            Attempt::Answered(answer) => return Ok(answer),
            Attempt::Failed(problem) => return Err(problem.into()),
            Attempt::Again(_) if retries > 0 => retries -= 1,
            Attempt::Again(answer) => return Ok(answer),
            Attempt::Taken => {}
        }
    }
}

fn may_pass(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, SerializationFailure, UnableToSendCommand};
    matches!(
        error,
        Error::DatabaseError(ClosedConnection | SerializationFailure | UnableToSendCommand, _)
    )
}

/// The same without a key: a plain transaction around the handler.
async fn unprotected<C, A, F>(operation: &Operation<C>, handler: F) -> Result<HttpResponse, Refusal>
where
    C: Backend,
    A: FromRequest + 'static,
    F: AsyncFn(A, &mut C, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    let mut retries = operation.policy.retries;
    loop {
        let arguments: A = operation.extract(None).await?;
        let mut connection = operation.lend().await?;
        if let Err(error) = C::begin(&mut connection, operation.policy.isolation).await {
            tracing::error!(endpoint = operation.endpoint, %error, "no transaction");
            return Err(Problem::store_unavailable().into());
        }
        match attempt::unprotected(operation, &mut connection, arguments, handler).await {
            Attempt::Again(_) if retries > 0 => retries -= 1,
            Attempt::Recorded(answer, _) | Attempt::Answered(answer) | Attempt::Again(answer) => {
                return Ok(answer);
            }
            Attempt::Failed(problem) => return Err(problem.into()),
            Attempt::Taken => return Err(Problem::handler_failed().into()),
        }
    }
}

/// How long a duplicate waits for its first attempt; it holds no connection meanwhile.
struct Patience {
    until: Option<Instant>,
    pause: Duration,
}

impl Patience {
    const FIRST_PAUSE: Duration = Duration::from_millis(25);
    const LONGEST_PAUSE: Duration = Duration::from_millis(400);

    fn new(rule: InFlight) -> Self {
        Self {
            until: match rule {
                InFlight::Reject => None,
                InFlight::Wait(time) => Some(Instant::now() + time),
            },
            pause: Self::FIRST_PAUSE,
        }
    }

    /// Waits for the first attempt of this process.
    async fn outlast<C: Backend>(
        &self,
        operation: &Operation<C>,
        over: impl Future<Output = ()>,
    ) -> Result<(), Problem> {
        if let Some(until) = self.until
            && timeout_at(until, over).await.is_ok()
        {
            return Ok(());
        }
        operation.tell("in_flight");
        Err(Problem::in_flight())
    }

    /// Waits before the database is asked again about the first attempt of another process.
    async fn pause<C: Backend>(&mut self, operation: &Operation<C>) -> Result<(), Problem> {
        if let Some(until) = self.until
            && Instant::now() < until
        {
            sleep_until(until.min(Instant::now() + self.pause)).await;
            self.pause = Self::LONGEST_PAUSE.min(self.pause * 2);
            return Ok(());
        }
        operation.tell("in_flight");
        Err(Problem::in_flight())
    }
}
