//! A proof, as a test writes it down.
//!
//! No rules: what is asked of the endpoint stands with them.

use std::future::ready;
use std::rc::Rc;
use std::time::Duration;

use actix_http::Request;
use actix_web::HttpResponse;
use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::HeaderName;
use actix_web::test::TestRequest;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::time::Instant;

use super::answer::{Answer, NoAnswer};
use super::course::Course;
use super::report::{Report, Rule};
use super::rules;
use crate::supervise::{Ran, supervise};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) type Maker<'a> = Rc<dyn Fn() -> TestRequest + 'a>;
pub(super) type Change<'a> = Box<dyn Fn(TestRequest) -> TestRequest + 'a>;
type Asked<'a, T> = Box<dyn Fn() -> LocalBoxFuture<'a, T> + 'a>;

/// Proves in one call, in a test of the application's own, that an endpoint can be retried safely. [`Rule`] says what
/// is proved.
///
/// The proof sends some hundred requests to the one service, in this process and on this thread; the handler has the
/// application's own database. It holds runs of the runtime's handlers behind the handler and in front of the
/// record, and lets them panic there, without a word in the handler. Endpoints that are not the runtime's can be
/// proved as well, save for what this needs; [`failing`](Self::failing) then says how the handler is made to fail.
///
/// What it cannot see is what happens between processes and when one dies; a process under `kill -9` is the test for
/// that. Nor can it come between a handler's look and its record where no await stands between them, because it has one
/// thread: where requests are over at their first poll, [`Rule::Concurrent`] and [`Rule::DroppedClient`] are not proven.
/// `idem check` asks a running server.
///
/// What two marked replays of one key have different in a header is not from the record. Such a header is not compared,
/// and the report says so, save for `Location`, `Content-Location`, `Content-Type`, `ETag` and `Last-Modified`.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
///
/// use actix_web::test::{TestRequest, init_service};
/// use actix_web::{App, HttpResponse, web};
/// use idem_runtime::testing::{Proof, Rule};
///
/// # #[actix_web::main]
/// # async fn main() {
/// // Not protected at all.
/// let create_order = async |orders: web::Data<AtomicI64>| {
///     let id = orders.fetch_add(1, SeqCst);
///     HttpResponse::Created().body(id.to_string())
/// };
/// let orders = web::Data::new(AtomicI64::new(0));
/// let app = App::new().app_data(orders.clone()).route("/orders", web::post().to(create_order));
/// let app = init_service(app).await;
///
/// let report = Proof::of(|| TestRequest::post().uri("/orders").set_json("a book"))
///     .other_body(|request| request.set_json("a pen"))
///     .other_account(|request| request.insert_header(("x-account", "8")))
///     .effects(async || orders.load(SeqCst))
///     .check(&app)
///     .await;
/// assert!(report.broken().contains(&Rule::Retry), "{report}");
/// # }
/// ```
///
/// With `run` in place of `check` it is an assertion.
pub struct Proof<'a> {
    pub(super) prepare: Asked<'a, Maker<'a>>,
    pub(super) other_bodies: Vec<Change<'a>>,
    pub(super) other_account: Option<Change<'a>>,
    pub(super) refused_body: Option<Change<'a>>,
    pub(super) failing: Option<Change<'a>>,
    pub(super) outliving: Option<(Change<'a>, Asked<'a, ()>)>,
    pub(super) effects: Option<Asked<'a, i64>>,
    pub(super) skipped: Vec<(Rule, String)>,
    pub(super) key_header: HeaderName,
    pub(super) replayed_header: HeaderName,
    pub(super) volatile_headers: Vec<HeaderName>,
    pub(super) patience: Duration,
}

impl<'a> Proof<'a> {
    /// Of the endpoint that this request is for, with all that it needs but the key: body, identity, cookies.
    ///
    /// It must do the same each time that it comes with a new key. Where it cannot, because it cancels what can be
    /// cancelled once: [`prepared`](Self::prepared).
    pub fn of<M>(request: M) -> Self
    where
        M: Fn() -> TestRequest + 'a,
    {
        let maker: Maker<'a> = Rc::new(request);
        Self::new(Box::new(move || ready(Rc::clone(&maker)).boxed_local()))
    }

    /// Of an endpoint for each of whose operations something has to be prepared: an order that is then cancelled.
    /// The inner function makes the request, for the first attempt and for each retry.
    ///
    /// ```
    /// # use actix_web::test::TestRequest;
    /// # use idem_runtime::testing::Proof;
    /// # async fn order() -> u32 { 7 }
    /// let proof = Proof::prepared(async || {
    ///     let id = order().await;
    ///     move || TestRequest::post().uri(&format!("/orders/{id}/cancel"))
    /// });
    /// # let _ = proof;
    /// ```
    pub fn prepared<P, M>(prepare: P) -> Self
    where
        P: AsyncFn() -> M + 'a,
        M: Fn() -> TestRequest + 'a,
    {
        let prepare = Rc::new(prepare);
        Self::new(Box::new(move || {
            let prepare = Rc::clone(&prepare);
            async move { Rc::new(prepare().await) as Maker<'a> }.boxed_local()
        }))
    }

    fn new(prepare: Asked<'a, Maker<'a>>) -> Self {
        Self {
            prepare,
            other_bodies: Vec::new(),
            other_account: None,
            refused_body: None,
            failing: None,
            outliving: None,
            effects: None,
            skipped: Vec::new(),
            key_header: HeaderName::from_static("idempotency-key"),
            replayed_header: HeaderName::from_static("idempotent-replayed"),
            volatile_headers: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Makes of the request another one of the same caller: another body, or another query. Each that is given is tried; the
    /// closer they are to the first, the more is proved (`1.0` for `1`, a digit of a large number).
    #[must_use]
    pub fn other_body(mut self, change: impl Fn(TestRequest) -> TestRequest + 'a) -> Self {
        self.other_bodies.push(Box::new(change));
        self
    }

    /// Makes of the request the same one of another caller.
    #[must_use]
    pub fn other_account(mut self, change: impl Fn(TestRequest) -> TestRequest + 'a) -> Self {
        self.other_account = Some(Box::new(change));
        self
    }

    /// Counts, by the application's own means, what the endpoint has done: rows, messages, calls. By how much the first
    /// request changes it is one effect. Without it no rule is proven that an effect could contradict; with
    /// [`Rule::Effects`] [skipped](Self::skip) the report is about answers alone.
    #[must_use]
    pub fn effects(mut self, count: impl AsyncFn() -> i64 + 'a) -> Self {
        self.effects = Some(asked(count));
        self
    }

    /// Gives the request a body that the handler's extractors refuse. Without it [`Rule::RefusedBody`] is skipped.
    #[must_use]
    pub fn refused_body(mut self, change: impl Fn(TestRequest) -> TestRequest + 'a) -> Self {
        self.refused_body = Some(Box::new(change));
        self
    }

    /// Makes of the request one whose handler panics or answers 5xx after its work: with a header, say, of which the
    /// fingerprint knows nothing. The runtime's handlers are made to panic without this.
    #[must_use]
    pub fn failing(mut self, change: impl Fn(TestRequest) -> TestRequest + 'a) -> Self {
        self.failing = Some(Box::new(change));
        self
    }

    /// How a run comes to outlive its claim: `slow` makes of the request, and of its retries, one whose handler takes
    /// long, and `lapse` returns when its claim is trusted no more. Without it [`Rule::LateOwner`] is not proven, save in
    /// transaction mode, where no run outlives its claim, and where it is skipped. In lease mode it is not proven either
    /// if the retry is told that the first run is still in flight.
    ///
    /// The runtime's handlers in lease mode are held by the proof, and their heartbeat is stopped; `slow` may return
    /// the request as it is, and `lapse` waits for the length of the lease.
    #[must_use]
    pub fn outliving(
        mut self,
        slow: impl Fn(TestRequest) -> TestRequest + 'a,
        lapse: impl AsyncFn() + 'a,
    ) -> Self {
        self.outliving = Some((Box::new(slow), asked(lapse)));
        self
    }

    /// Leaves a rule out. The reason stands in the report.
    #[must_use]
    pub fn skip(mut self, rule: Rule, because: impl Into<String>) -> Self {
        self.skipped.push((rule, because.into()));
        self
    }

    /// The header of the key, if it is not `Idempotency-Key`.
    #[must_use]
    pub fn key_header(mut self, name: HeaderName) -> Self {
        self.key_header = name;
        self
    }

    /// The header that marks a replay, if it is not `Idempotent-Replayed`.
    #[must_use]
    pub fn replayed_header(mut self, name: HeaderName) -> Self {
        self.replayed_header = name;
        self
    }

    /// A header that may differ between an answer and its replay, because a middleware outside of the protection sets
    /// it anew: whether a cache has answered, what is left of a limit. One that differs between any two replays (a
    /// request's number) needs no mention.
    #[must_use]
    pub fn volatile_header(mut self, name: HeaderName) -> Self {
        self.volatile_headers.push(name);
        self
    }

    /// How long an answer may take; 30 seconds unless said otherwise. An endpoint that takes two connections of one pool
    /// shows by its never answering.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Asserts that every rule holds that is not skipped: by [`skip`](Self::skip), or by the proof itself, which leaves
    /// out [`Rule::RefusedBody`] without [`refused_body`](Self::refused_body), [`Rule::LateOwner`] in transaction mode
    /// without [`outliving`](Self::outliving), and [`Rule::InFlight`] of endpoints that are not the runtime's.
    ///
    /// A minor release may add a rule, or see more of one, and this then fails where it has passed. Whoever cannot have
    /// that asserts the rules that they name, on the report of [`check`](Self::check).
    ///
    /// # Panics
    ///
    /// If a rule is broken or could not be proved. The message is the [`Report`].
    pub async fn run<S, B>(self, app: &S)
    where
        S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
        B: MessageBody,
    {
        let report = self.check(app).await;
        assert!(report.is_proven(), "{report}");
    }

    /// The same as a value. What panics in the service is an answer that did not come.
    pub async fn check<S, B>(self, app: &S) -> Report
    where
        S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
        B: MessageBody,
    {
        let patience = self.patience;
        let call = |request: Request| answer(app, request, patience).boxed_local();
        rules::all(&Course::new(&self, &call)).await
    }
}

/// The answer of the service, as a server would send it.
async fn answer<S, B>(app: &S, request: Request, patience: Duration) -> Result<Answer, NoAnswer>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody,
{
    let called = async {
        match app.call(request).await {
            Ok(response) => Answer::of(response.into_parts().1).await,
            Err(error) => Answer::of(HttpResponse::from_error(error)).await,
        }
    };
    match supervise(Instant::now() + patience, called).await {
        Ran::Finished(answer) => answer,
        Ran::Panicked => Err(NoAnswer::Panicked),
        Ran::TimedOut => Err(NoAnswer::Late(patience)),
    }
}

fn asked<'a, T>(ask: impl AsyncFn() -> T + 'a) -> Asked<'a, T> {
    let ask = Rc::new(ask);
    Box::new(move || {
        let ask = Rc::clone(&ask);
        async move { ask().await }.boxed_local()
    })
}
