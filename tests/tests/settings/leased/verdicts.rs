//! Verdicts on what somebody has seen: for which run they count, and what becomes of a late owner.

use std::future::{Future, ready};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, SET_COOKIE, WARNING};
use actix_web::test::{call_service, init_service};
use actix_web::web;
use idem_runtime::{Reconciler, RecordedResponse, UnresolvedOperation, Verdict, settle, testing};
use idem_tests::Database;

use super::{Kind, Told, app, column, connect, each, send, statuses, unresolved};
use crate::open::{Answer, attempt, marks};

const RETAIN: Duration = Duration::from_secs(60);

each! {
    a_release_was_for_every_later_run,
    a_late_owner_found_itself_in_a_row_that_was_released,
    a_verdict_on_an_old_lease_counted_for_a_new_one,
    a_worker_died_of_its_reconciler,
    a_completion_replays_no_cookie,
    an_informational_response_settles_nothing,
}

/// The handler has let itself be run again once; how its second run ended nobody knows.
async fn a_release_was_for_every_later_run<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let requests = || [(); 3].map(|()| attempt("/run-held/released", "k")).into();
    let answers = send(K::builder(&database).await, &told, requests()).await;
    assert_eq!(statuses(&answers), [429, 502, 409]);
    assert_eq!(answers[2].code(), "idempotency-unresolved");
    assert_eq!(
        column(&database, "unresolved").await.as_deref(),
        Some("hold")
    );
    // Somebody else's release is for once, too.
    let mut connection = connect::<K>(&database).await;
    let seen = unresolved(&database, &mut connection).await;
    assert_eq!(seen.steps().collect::<Vec<_>>(), ["first"]);
    let settled = settle(&mut connection, &seen, Verdict::Released, RETAIN).await;
    assert!(settled.unwrap());
    let answers = send(K::builder(&database).await, &told, requests()).await;
    assert_eq!(statuses(&answers), [502, 409, 409]);
    assert_eq!(told.times("released of k"), 3);
    drop(connection);
    database.discard().await;
}

/// Lets a request come to its gate, does something, and opens the gate; the request's answer.
async fn meanwhile<K: Kind>(
    database: &Database,
    told: &web::Data<Told>,
    path: &str,
    work: impl AsyncFnOnce(K),
) -> Answer {
    let builder = K::builder(database).await;
    let app = init_service(app(&builder.build().unwrap(), told)).await;
    let first = call_service(&app, attempt(path, "k").to_request());
    let beside = async {
        told.until("at the gate", 1).await;
        work(connect::<K>(database).await).await;
        told.after.notify_one();
    };
    let (first, ()) = futures_util::join!(first, beside);
    Answer::of(first).await
}

/// Of a row with finished steps nothing but its owner tells that.
async fn a_late_owner_found_itself_in_a_row_that_was_released<K: Kind>() {
    for (path, second) in [("/run-held/gated", 1), ("/run-held/gated-last", 0)] {
        let database = K::database().await;
        let told = web::Data::<Told>::default();
        let late = meanwhile(&database, &told, path, async |mut connection: K| {
            let seen = unresolved(&database, &mut connection).await;
            let settled = settle(&mut connection, &seen, Verdict::Released, RETAIN).await;
            assert!(settled.unwrap());
            // A second time it is not what was seen.
            let settled = settle(&mut connection, &seen, Verdict::Released, RETAIN).await;
            assert!(!settled.unwrap());
        })
        .await;
        assert_eq!(late.status.as_u16(), 409, "{path}: {}", late.body);
        assert_eq!(late.code(), "idempotency-unresolved", "{path}");
        assert_eq!(
            (database.pending().await, marks(&database, "second").await),
            (1, 0)
        );
        let retry = vec![attempt(path, "k"), attempt(path, "k")];
        let answers = send(K::builder(&database).await, &told, retry).await;
        assert_eq!(
            statuses(&answers),
            [201, 201],
            "{path}: {}",
            answers[0].body
        );
        assert!(!answers[0].replayed() && answers[1].replayed());
        assert_eq!(marks(&database, "second").await, second, "{path}");
        database.discard().await;
    }
}

/// The late owner has renewed its lease in between, and that one has run out as well.
async fn a_verdict_on_an_old_lease_counted_for_a_new_one<K: Kind>() {
    for verdict in [
        Verdict::Released,
        Verdict::Completed(RecordedResponse::new(StatusCode::OK)),
    ] {
        let database = K::database().await;
        let told = web::Data::<Told>::default();
        let path = "/run-held/gated";
        let late = meanwhile(&database, &told, path, async |mut connection: K| {
            let seen = unresolved(&database, &mut connection).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
            let anew = unresolved(&database, &mut connection).await;
            let settled = settle(&mut connection, &seen, verdict, RETAIN).await;
            assert!(!settled.unwrap(), "{seen:?} {anew:?}");
        })
        .await;
        assert_eq!(late.status.as_u16(), 201, "{}", late.body);
        assert_eq!(marks(&database, "second").await, 1);
        database.discard().await;
    }
}

/// Panics where its future is made, and once where it runs.
struct Careless(web::Data<Told>);

impl Reconciler for Careless {
    fn reconcile(&self, _: &UnresolvedOperation) -> impl Future<Output = Verdict> {
        self.0.say("asked");
        let asked = self.0.times("asked");
        assert!(asked > 1, "careless");
        async move {
            assert!(asked > 2, "careless, later");
            Verdict::Released
        }
    }
}

async fn a_worker_died_of_its_reconciler<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let failing = vec![attempt("/hold/500", "k")];
    send(K::builder(&database).await, &told, failing).await;
    let builder = K::builder(&database).await;
    let settings = builder.worker_interval(Duration::from_millis(10)).build();
    let worker = settings.unwrap().spawn_reconciler(Careless(told.clone()));
    told.until("asked", 3).await;
    worker.stop().await;
    let rule = column(&database, "unresolved").await;
    assert_eq!(rule.as_deref(), Some("released"));
    database.discard().await;
}

/// An operation that has failed under `hold`, with this verdict; whether it is settled, and a retry's answer.
async fn judge<K: Kind>(verdict: Verdict) -> (bool, Answer) {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let again = || vec![attempt("/hold/500", "k")];
    send(K::builder(&database).await, &told, again()).await;
    let mut connection = connect::<K>(&database).await;
    let seen = unresolved(&database, &mut connection).await;
    let settled = settle(&mut connection, &seen, verdict, RETAIN).await;
    let retry = send(K::builder(&database).await, &told, again())
        .await
        .pop();
    assert_eq!(told.runs(), 1);
    drop(connection);
    database.discard().await;
    (settled.unwrap(), retry.unwrap())
}

async fn a_completion_replays_no_cookie<K: Kind>() {
    let response = RecordedResponse::new(StatusCode::CREATED)
        .header(SET_COOKIE, HeaderValue::from_static("session=stolen"))
        .header(WARNING, HeaderValue::from_static("199 - late"))
        .body("found");
    let (settled, retry) = judge::<K>(Verdict::Completed(response)).await;
    assert!(settled && retry.replayed());
    assert_eq!((retry.status.as_u16(), &*retry.body), (201, "found"));
    assert!(!retry.headers.contains_key(SET_COOKIE));
    assert_eq!(retry.headers.get(WARNING).unwrap(), "199 - late");
}

async fn an_informational_response_settles_nothing<K: Kind>() {
    for status in [StatusCode::CONTINUE, StatusCode::PROCESSING] {
        let response = RecordedResponse::new(status);
        let (settled, retry) = judge::<K>(Verdict::Completed(response)).await;
        assert!(!settled);
        assert_eq!(retry.code(), "idempotency-unresolved");
    }
}

struct Charges;

impl Reconciler for Charges {
    fn reconcile(&self, operation: &UnresolvedOperation) -> impl Future<Output = Verdict> {
        let nothing = operation.steps().count() == 0 && operation.request().is_none();
        assert!(nothing && operation.step::<u32>("charge").is_none());
        assert_eq!(operation.endpoint(), "POST /orders");
        assert_eq!(operation.key().scope(), "account:7");
        ready(match operation.key().as_str() {
            "made" => {
                let key = operation.key().derive("charge");
                Verdict::Completed(RecordedResponse::new(StatusCode::CREATED).body(key))
            }
            _ => Verdict::Released,
        })
    }
}

#[actix_web::test]
async fn a_reconciler_is_tested_without_a_database() {
    let of = |key| testing::unresolved_operation("POST /orders", "account:7", key);
    let made = Charges.reconcile(&of("made")).await;
    assert!(matches!(made, Verdict::Completed(_)));
    let unmade = Charges.reconcile(&of("unmade")).await;
    assert!(matches!(unmade, Verdict::Released));
}
