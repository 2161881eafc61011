//! The order of the steps of a protected request. Read it beside the table of answers in the README.
//!
//! No SQL, no body bytes.

use std::sync::Arc;

use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse};
use tracing::Instrument;

use crate::attempt::{self, Attempt};
use crate::body::{self, BodyError};
use crate::claim::{self, Patience, Settled};
use crate::idempotency::{Idempotency, Settings};
use crate::inflight::First;
use crate::key::{self, IdempotencyKey, KeyError};
use crate::lease::Resumed;
use crate::operation::{Keyed, Operation, Refusal};
use crate::policy::{IdempotencyPolicy, KeyRule};
use crate::pool;
use crate::private::Incoming;
use crate::problem::{Base, DEFAULT_BASE, Problem};
use crate::scope::{Endpoint, OperationId};
use crate::store::Backend;
use crate::telemetry::{Outcome, Tally};

/// How often somebody else may record a key first before this looks like an error. Their record is
/// there at the next claim, unless it has expired or been pruned.
const LOSSES: u32 = 3;

/// What an operation is called, and its digest.
pub(crate) type Named = (IdempotencyKey, OperationId);

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
        return unconfigured(&incoming.request, policy, std::any::type_name::<C>());
    };
    admit(
        settings,
        incoming,
        policy,
        async move |operation, name| match name {
            Some((name, id)) => {
                let keyed = operation.keyed(name, id);
                protected(&operation, &keyed, handler).await
            }
            None => {
                let base = Base(Arc::clone(&operation.settings.problem_base));
                operation.request.extensions_mut().insert(base);
                unprotected(&operation, handler).await
            }
        },
    )
    .await
}

/// The answer where nobody has configured what the handler needs.
pub(crate) fn unconfigured(
    request: &HttpRequest,
    policy: &IdempotencyPolicy,
    connection: &str,
) -> HttpResponse {
    let tally = Tally::new(policy, request, &Endpoint::of(request), None);
    tally.tell(Outcome::Failed);
    tracing::error!(
        parent: tally.span(),
        handler = policy.handler,
        "no web::Data<Idempotency<{connection}>> in the app's data; the handler was not entered",
    );
    Problem::misconfigured().respond(DEFAULT_BASE)
}

/// Method, key, scope, body; then the rest, detached.
pub(crate) async fn admit<C, R>(
    settings: Arc<Settings<C>>,
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    rest: R,
) -> HttpResponse
where
    C: Backend,
    R: AsyncFnOnce(Operation<C>, Option<Named>) -> Result<HttpResponse, Refusal> + 'static,
{
    let base = Arc::clone(&settings.problem_base);
    let endpoint = Endpoint::of(&incoming.request);
    let tally = Tally::new(policy, &incoming.request, &endpoint, Some(C::SYSTEM));
    let endpoint = endpoint.shown().to_owned();
    let ended = detached(settings, incoming, policy, endpoint, &tally, rest)
        .instrument(tally.span().clone())
        .await;
    tally.conclude(&ended);
    match ended {
        Ok(response) | Err(Refusal::Theirs(response)) => response,
        Err(Refusal::Ours(problem)) => problem.respond(&base),
    }
}

async fn detached<C, R>(
    settings: Arc<Settings<C>>,
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    endpoint: String,
    tally: &Tally,
    rest: R,
) -> Result<HttpResponse, Refusal>
where
    C: Backend,
    R: AsyncFnOnce(Operation<C>, Option<Named>) -> Result<HttpResponse, Refusal> + 'static,
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
    if let Some((_, id)) = &name {
        tally.named(&settings.key_digests, id);
    }
    let body = body::read(&request, payload, policy.body_limit)
        .await
        .map_err(|error| match error {
            BodyError::TooLarge(limit) => Problem::request_too_large(limit).into(),
            BodyError::Read(error) => Refusal::from(error),
        })?;
    // Behind the body: who sends it slowly, or never, would hold a place for as long.
    let Some(place) = settings.admission.enter() else {
        tracing::error!(handler = policy.handler, "max_operations reached");
        return Err(Problem::store_unavailable().into());
    };
    let keyless = name.is_none();
    let operation = Operation::new(settings, policy, request, endpoint, body, tally.clone());
    let tally = tally.clone();
    let rest = async move {
        let _place = place;
        let ended = rest(operation, name).await;
        tally.conclude(&ended);
        ended
    };
    match actix_web::rt::spawn(rest.in_current_span()).await {
        Ok(ended) => ended,
        Err(error) => {
            tracing::error!(handler = policy.handler, %error, "the operation was dropped");
            let unknown = Problem::store_unavailable();
            Err(Refusal::Ours(match keyless {
                true => unknown.without_retry(),
                false => unknown,
            }))
        }
    }
}

/// Key, then scope. `None`: the endpoint allows a request without a key.
async fn name<C>(
    settings: &Settings<C>,
    policy: &IdempotencyPolicy,
    request: &HttpRequest,
) -> Result<Option<Named>, Refusal> {
    let named = |name: IdempotencyKey| {
        let id = OperationId::new(&name.scope, &name.key);
        Some((name, id))
    };
    if let Some(resumed) = Resumed::of(request) {
        return Ok(named(resumed.name()));
    }
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
    Ok(named(IdempotencyKey::new(scope, key)))
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
    let mut patience = Patience::new(operation.policy.in_flight);
    let mut retries = operation.policy.retries;
    let mut losses = LOSSES;
    let mut held = None;
    loop {
        // Before a connection is taken: an extractor may need one of its own.
        let arguments: A = operation.extract(Some(keyed)).await?;
        let mut ours = match claim::settle(operation, keyed, held.take(), &mut patience).await? {
            Settled::Ours(ours) => ours,
            Settled::Recorded(record) => return Ok(operation.answer_from(keyed, &record)?),
            Settled::Stale(..) => return Err(Problem::unresolved().into()),
        };
        let ended = attempt::protected(operation, keyed, &mut ours, arguments, handler).await;
        match ended {
            Attempt::Recorded(answer, record) => {
                ours.give_back().recorded(record);
                return Ok(answer);
            }
            Attempt::Answered(answer) => return Ok(answer),
            Attempt::Failed(problem) => return Err(problem.into()),
            Attempt::Abandoned(problem) => {
                ours.discard();
                return Err(problem.into());
            }
            Attempt::Overtaken if retries == 0 => {
                return overtaken(operation, keyed, ours.give_back(), &mut patience).await;
            }
            Attempt::Again | Attempt::Overtaken => {
                retries = operation.one_less(retries)?;
                held = Some(ours.give_back());
                operation.let_others_end(retries).await;
                continue;
            }
            Attempt::Taken if losses > 0 => losses -= 1,
            Attempt::Taken => return Err(Problem::store_unavailable().into()),
        }
        held = Some(ours.give_back());
    }
}

/// The answer where another transaction was faster and the handler may not run again: what somebody has recorded, or that
/// it is on its way.
async fn overtaken<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    first: First,
    patience: &mut Patience,
) -> Result<HttpResponse, Refusal> {
    loop {
        if let Some(record) = operation.look(keyed).await? {
            let record = Arc::new(record);
            first.recorded(Arc::clone(&record));
            return Ok(operation.answer_from(keyed, &record)?);
        }
        patience.pause(operation, keyed).await?;
    }
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
        let mut connection = claim::begin(operation).await?;
        match attempt::unprotected(operation, &mut connection, arguments, handler).await {
            Attempt::Again | Attempt::Overtaken => {
                retries = operation.one_less(retries)?;
                drop(connection);
                operation.let_others_end(retries).await;
            }
            Attempt::Recorded(answer, _) | Attempt::Answered(answer) => return Ok(answer),
            Attempt::Failed(problem) => return Err(problem.into()),
            Attempt::Abandoned(problem) => {
                pool::discard(connection);
                return Err(problem.into());
            }
            Attempt::Taken => return Err(Problem::handler_failed().into()),
        }
    }
}
