//! One proof as it goes on: operations, requests of them, and what they have changed. What a rule is written with.
//!
//! No rules.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use actix_http::Request;
use actix_web::HttpMessage;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, LOCATION};
use actix_web::test::TestRequest;
use futures_util::future::LocalBoxFuture;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::answer::{Answer, NoAnswer};
use super::door::{Door, Fault};
use super::proof::{Change, Maker, Proof};
use crate::policy::{IdempotencyPolicy, InFlight};
use crate::problem::ProblemCode;
use crate::response::{HOP_BY_HOP, OF_THE_WHOLE_BODY, UNREPLAYED};

/// Between two looks at a request that is still running.
const PAUSE: Duration = Duration::from_millis(10);

type Call<'c> = dyn Fn(Request) -> LocalBoxFuture<'c, Result<Answer, NoAnswer>> + 'c;

pub(super) struct Course<'c, 'p> {
    pub(super) proof: &'c Proof<'p>,
    call: &'c Call<'c>,
    /// Fields that are not compared.
    ignored: Vec<HeaderName>,
    /// The same, because replays have shown that they are not from the record.
    pub(super) unsettled: RefCell<Vec<HeaderName>>,
    /// By how much one operation changes the effects, once that is known.
    pub(super) one: Cell<Option<i64>>,
    /// Whether a plain retry was answered otherwise than the first request.
    pub(super) differs: Cell<bool>,
    /// What the endpoint declared, if it is one of ours.
    pub(super) policy: Cell<Option<&'static IdempotencyPolicy>>,
}

/// One operation: what is asked for, under one key.
pub(super) struct Operation<'p> {
    maker: Maker<'p>,
    key: String,
}

/// What is wrong, one sentence each.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<String>);

impl Faults {
    /// Once, however often it was seen.
    pub(super) fn push(&mut self, fault: impl Into<String>) {
        let fault = fault.into();
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }
}

impl<'c, 'p> Course<'c, 'p> {
    pub(super) fn new(proof: &'c Proof<'p>, call: &'c Call<'c>) -> Self {
        let mut ignored = proof.volatile_headers.clone();
        ignored.push(proof.replayed_header.clone());
        ignored.extend(HOP_BY_HOP);
        ignored.extend(UNREPLAYED.map(HeaderName::from_static));
        Self {
            proof,
            call,
            ignored,
            unsettled: RefCell::default(),
            one: Cell::new(None),
            differs: Cell::new(false),
            policy: Cell::new(None),
        }
    }

    /// A new operation, with a key that nobody has used.
    pub(super) async fn operation(&self) -> Operation<'p> {
        Operation {
            maker: (self.proof.prepare)().await,
            key: format!("\"{}\"", Uuid::new_v4()),
        }
    }

    /// A new operation that asks for the same, with a key of its own.
    pub(super) fn twin(&self, operation: &Operation<'p>) -> Operation<'p> {
        Operation {
            maker: Rc::clone(&operation.maker),
            key: format!("\"{}\"", Uuid::new_v4()),
        }
    }

    /// A request of it.
    pub(super) fn request(&self, operation: &Operation<'p>) -> TestRequest {
        let header = (self.proof.key_header.clone(), operation.key.as_str());
        operation.bare().insert_header(header)
    }

    /// The first request, or a retry.
    pub(super) async fn send(&self, operation: &Operation<'p>) -> Result<Answer, NoAnswer> {
        self.ask(self.request(operation)).await
    }

    /// The same, changed.
    pub(super) async fn send_as(
        &self,
        operation: &Operation<'p>,
        change: &Change<'_>,
    ) -> Result<Answer, NoAnswer> {
        self.ask(change(self.request(operation))).await
    }

    pub(super) async fn ask(&self, request: TestRequest) -> Result<Answer, NoAnswer> {
        (self.call)(request.to_request()).await
    }

    /// Through a door, at which this becomes of its run.
    pub(super) fn through(
        &self,
        request: TestRequest,
        fault: Fault,
    ) -> (LocalBoxFuture<'c, Result<Answer, NoAnswer>>, Door) {
        let request = request.to_request();
        let door = Door::new(fault);
        request.extensions_mut().insert(door.clone());
        ((self.call)(request), door)
    }

    /// Retries until it is answered with something else than that it is running, for as long as one answer may take.
    pub(super) async fn retry(&self, operation: &Operation<'p>) -> Result<Answer, NoAnswer> {
        self.retry_as(operation, None).await
    }

    /// The same, changed.
    pub(super) async fn retry_as(
        &self,
        operation: &Operation<'p>,
        change: Option<&Change<'_>>,
    ) -> Result<Answer, NoAnswer> {
        let until = Instant::now() + self.proof.patience;
        loop {
            let request = self.request(operation);
            let request = match change {
                Some(change) => change(request),
                None => request,
            };
            let answer = self.ask(request).await?;
            if self.in_flight(&answer).is_some() || Instant::now() > until {
                return Ok(answer);
            }
            sleep(PAUSE).await;
        }
    }

    /// What is wrong with this as the answer to a duplicate of a running request.
    pub(super) fn in_flight(&self, answer: &Answer) -> Option<String> {
        let policy = self.policy.get();
        let accepts = policy.is_some_and(|policy| policy.in_flight == InFlight::Accept);
        let is_accepted = answer.status == StatusCode::ACCEPTED
            && answer.headers.contains_key(LOCATION)
            && answer.asks_to_wait();
        if accepts && is_accepted {
            return None;
        }
        let wanted = match accepts {
            true => "202 with `Location` and `Retry-After`",
            false => "409 with `Retry-After`",
        };
        let is_conflict = answer.status == StatusCode::CONFLICT && answer.asks_to_wait();
        let is_ours = policy.is_none() || answer.is(ProblemCode::InFlight);
        let is_told = is_conflict && is_ours && !accepts;
        (!is_told).then(|| format!("{}, and not {wanted}", answer.in_short()))
    }

    /// Says so unless it was refused like this.
    pub(super) fn expect_refusal(
        &self,
        faults: &mut Faults,
        answer: Result<Answer, NoAnswer>,
        (status, code): (StatusCode, ProblemCode),
        what: &str,
    ) {
        match answer {
            Ok(answer) if answer.status != status => {
                let (got, status) = (answer.in_short(), status.as_u16());
                faults.push(format!("{what} got {got}, and not {status}"));
            }
            Ok(answer) if self.policy.get().is_some() && !answer.is(code) => {
                let (got, code) = (answer.in_short(), code.as_str());
                faults.push(format!("{what} got {got}, and not `{code}`"));
            }
            Ok(_) => {}
            Err(error) => faults.push(format!("{what}: {error}")),
        }
    }

    /// The header of a replay.
    pub(super) fn marker(&self) -> &HeaderName {
        &self.proof.replayed_header
    }

    /// Whether it is marked as a replay.
    pub(super) fn is_replay(&self, answer: &Answer) -> bool {
        answer.is_marked(self.marker())
    }

    /// In what this is no replay of the first answer. Where replays differ from it anyway, that is said once, and only
    /// the status is compared.
    pub(super) fn difference(&self, first: &Answer, answer: &Answer) -> Option<String> {
        let is_told = self.differs.get() && first.status == answer.status;
        match is_told {
            true => None,
            false => self.distinction(first, answer),
        }
    }

    /// In what these are two answers, whatever has been said before.
    pub(super) fn distinction(&self, first: &Answer, answer: &Answer) -> Option<String> {
        let mut ignored = self.ignored.clone();
        ignored.extend(self.unsettled.borrow().iter().cloned());
        let (first, answer) = (self.as_recorded(first), self.as_recorded(answer));
        if matches!((&first, &answer), (Cow::Owned(_), _) | (_, Cow::Owned(_))) {
            ignored.extend(OF_THE_WHOLE_BODY.map(HeaderName::from_static));
        }
        answer.difference_from(&first, &ignored)
    }

    /// A first answer without what the endpoint leaves out of its record. A replay has to be without it already.
    fn as_recorded<'a>(&self, answer: &'a Answer) -> Cow<'a, Answer> {
        let pointers = self.policy.get().map_or(&[][..], |policy| policy.redact);
        match self.is_replay(answer) {
            true => Cow::Borrowed(answer),
            false => answer.without(pointers),
        }
    }

    /// What it did, and by how much that changed the effects, if they are counted.
    pub(super) async fn changed_by<T>(&self, work: impl Future<Output = T>) -> (T, Option<i64>) {
        let before = self.count().await;
        let done = work.await;
        let after = self.count().await;
        let changed = before.zip(after);
        (done, changed.map(|(before, after)| after - before))
    }

    async fn count(&self) -> Option<i64> {
        match &self.proof.effects {
            Some(effects) => Some(effects().await),
            None => None,
        }
    }

    /// Says so unless so many operations have been done.
    pub(super) fn expect(
        &self,
        faults: &mut Faults,
        operations: i64,
        changed: Option<i64>,
        when: &str,
    ) {
        let Some((changed, one)) = changed.zip(self.one.get()) else {
            return;
        };
        if changed != operations * one {
            faults.push(format!(
                "{when} `effects` had changed by {changed}, and not by {}",
                operations * one
            ));
        }
    }

    /// The first answer of a new operation, which the rule needs; or that it did not come.
    pub(super) async fn done(
        &self,
        faults: &mut Faults,
        operation: &Operation<'p>,
    ) -> Option<Answer> {
        match self.send(operation).await {
            Ok(answer) if answer.has_succeeded() => return Some(answer),
            Ok(answer) => faults.push(format!("a first request got {}", answer.in_short())),
            Err(error) => faults.push(format!("a first request got {error}")),
        }
        None
    }

    /// Says so unless a retry is answered as the first one was.
    pub(super) async fn expect_replay(
        &self,
        faults: &mut Faults,
        operation: &Operation<'p>,
        first: &Answer,
        when: &str,
    ) {
        match self.send(operation).await {
            Ok(answer) => {
                if let Some(difference) = self.difference(first, &answer) {
                    faults.push(format!("{when}: {difference}"));
                }
            }
            Err(error) => faults.push(format!("{when}: {error}")),
        }
    }
}

impl Operation<'_> {
    /// Its request, without the key.
    pub(super) fn bare(&self) -> TestRequest {
        (self.maker)()
    }
}
