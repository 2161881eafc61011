//! The status resource: what it says, and to whom.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::error::ErrorUnauthorized;
use actix_web::test::TestRequest;
use actix_web::{FromRequest, HttpRequest, web};
use idem_runtime::Account;
use idem_tests::Database;

use super::{Kind, Told, each, send, statuses};
use crate::open::{Answer, attempt};

each! {
    a_recorded_response_is_given_byte_for_byte,
    nobody_elses_operation_is_there,
    who_has_no_identity_was_told_that_it_is_there,
    what_is_not_an_id_is_not_there,
    what_has_expired_is_not_there,
    the_status_path_is_the_whole_path,
    an_operation_that_has_ended_without_a_record,
}

fn look(path: &str) -> TestRequest {
    let request = TestRequest::get().uri(path);
    request.insert_header(("x-account", "acme"))
}

/// Where the one operation is found.
async fn place<K: Kind>(database: &Database) -> String {
    let id = match K::BACKEND {
        idem_tests::Backend::Postgres => "encode(uuid_send(id), 'hex')",
        idem_tests::Backend::Mysql | idem_tests::Backend::Sqlite => "lower(hex(id))",
    };
    let id = super::column(database, id).await.unwrap();
    format!("/operations/{id}")
}

/// Asks once, and then whatever follows from where the operation is found.
async fn ask_and<K: Kind>(
    first: TestRequest,
    then: impl FnOnce(&str) -> Vec<TestRequest>,
) -> (Database, Answer, Vec<Answer>) {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let builder = K::builder(&database).await;
    let first = send(builder, &told, vec![first]).await.pop().unwrap();
    let requests = then(&place::<K>(&database).await);
    let answers = send(K::builder(&database).await, &told, requests).await;
    (database, first, answers)
}

#[track_caller]
fn assert_unknown(answer: &Answer) {
    assert_eq!(answer.status.as_u16(), 404, "{}", answer.body);
    assert_eq!(answer.code(), "idempotency-operation-unknown");
}

async fn a_recorded_response_is_given_byte_for_byte<K: Kind>() {
    for (status, body) in [
        (201, "a\0\u{e9}\r\n'\\\u{1f980}".to_owned()),
        (422, "no".to_owned()),
        (200, "long".repeat(50_000)),
        (204, String::new()),
    ] {
        let path = format!("/accept/{status}");
        let request = || attempt(&path, "k").set_payload(body.clone());
        let (database, first, answers) =
            ask_and::<K>(request(), |place| vec![look(place), request()]).await;
        assert_eq!(statuses(&answers), [status, status]);
        for answer in &answers {
            assert!(answer.replayed());
            assert_eq!(answer.body, first.body);
            let headers = answer.headers.iter();
            let headers = headers.filter(|(name, _)| *name != "idempotent-replayed");
            let (first, replayed): (Vec<_>, Vec<_>) =
                (first.headers.iter().collect(), headers.collect());
            assert_eq!(first, replayed);
        }
        database.discard().await;
    }
}

async fn nobody_elses_operation_is_there<K: Kind>() {
    let (database, _, answers) = ask_and::<K>(attempt("/accept/201", "k"), |place| {
        let nobody = TestRequest::get().uri(place);
        let of = |account| {
            TestRequest::get()
                .uri(place)
                .insert_header(("x-account", account))
        };
        vec![nobody, of("other"), of(""), of("acm"), look(place)]
    })
    .await;
    let (theirs, others) = answers.split_last().unwrap();
    others.iter().for_each(assert_unknown);
    assert_eq!(theirs.status.as_u16(), 201);
    database.discard().await;
    // Of a key that all callers share nobody is the one.
    let shared = attempt("/background-endpoint", "k");
    let (database, _, answers) = ask_and::<K>(shared, |place| vec![look(place)]).await;
    assert_unknown(&answers[0]);
    database.discard().await;
}

/// Says who is asking, or that it wants a token.
struct Caller(String);

impl Account for Caller {
    fn account(&self) -> String {
        self.0.clone()
    }
}

impl FromRequest for Caller {
    type Error = actix_web::Error;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let named = request.headers().get("x-account");
        let named = named.map(|name| Self(name.to_str().unwrap().to_owned()));
        ready(named.ok_or_else(|| ErrorUnauthorized("who?")))
    }
}

/// By the extractor's own error, which an id that does not exist never met.
async fn who_has_no_identity_was_told_that_it_is_there<K: Kind>() {
    let (database, _, _) = ask_and::<K>(attempt("/accept/201", "k"), |_| vec![]).await;
    let told = web::Data::<Told>::default();
    let place = place::<K>(&database).await;
    let nobody = |place: &str| TestRequest::get().uri(place);
    let unknown = format!("/operations/{}", "0".repeat(32));
    let requests = vec![nobody(&place), nobody(&unknown), look(&place)];
    let settings = K::builder(&database).await.account::<Caller>();
    let answers = send(settings, &told, requests).await;
    answers[..2].iter().for_each(assert_unknown);
    assert_eq!(answers[0].body, answers[1].body);
    assert_eq!(answers[2].status.as_u16(), 201);
    // Elsewhere it is still the answer.
    let settings = K::builder(&database).await.account::<Caller>();
    let request = TestRequest::post().uri("/accept/201");
    let request = request.insert_header(("idempotency-key", "l"));
    let answers = send(settings, &told, vec![request]).await;
    assert_eq!((statuses(&answers), &*answers[0].body), (vec![401], "who?"));
    database.discard().await;
}

async fn what_is_not_an_id_is_not_there<K: Kind>() {
    let (database, _, answers) = ask_and::<K>(attempt("/accept/201", "k"), |place| {
        let id = place.rsplit('/').next().unwrap();
        let garbage = [
            "nonsense".to_owned(),
            "0".repeat(32),
            id[1..].to_owned(),
            format!("{id}0"),
            format!("{id}00"),
            format!("x{}", &id[1..]),
            format!("{}-{}", &id[..16], &id[16..]),
            "%00".repeat(32),
            "%F0%9F%A6%80".repeat(8),
            "a".repeat(10_000),
            "'%20OR%201=1--".to_owned(),
        ];
        let paths = garbage.map(|id| look(&format!("/operations/{id}")));
        paths.into()
    })
    .await;
    answers.iter().for_each(assert_unknown);
    database.discard().await;
}

async fn what_has_expired_is_not_there<K: Kind>() {
    let (database, _, answers) =
        ask_and::<K>(attempt("/accept/201", "k"), |place| vec![look(place)]).await;
    assert_eq!(statuses(&answers), [201]);
    database.expire_all().await;
    let told = web::Data::<Told>::default();
    let place = place::<K>(&database).await;
    let answers = send(K::builder(&database).await, &told, vec![look(&place)]).await;
    assert_unknown(&answers[0]);
    database.discard().await;
}

/// Under `hold` nobody works on it any more; under `rerun` the next retry, or a worker, does.
async fn an_operation_that_has_ended_without_a_record<K: Kind>() {
    let (database, _, answers) =
        ask_and::<K>(attempt("/accept/500", "k"), |place| vec![look(place)]).await;
    assert_eq!(statuses(&answers), [409]);
    assert_eq!(answers[0].code(), "idempotency-unresolved");
    assert!(answers[0].headers.contains_key("retry-after"));
    database.discard().await;
    let (database, _, answers) =
        ask_and::<K>(attempt("/background", "k"), |place| vec![look(place)]).await;
    assert_eq!(statuses(&answers), [202]);
    assert!(answers[0].headers.contains_key("retry-after"));
    database.discard().await;
}

async fn the_status_path_is_the_whole_path<K: Kind>() {
    let (database, _, _) = ask_and::<K>(attempt("/accept/201", "k"), |_| vec![]).await;
    let told = web::Data::<Told>::default();
    let settings = K::builder(&database)
        .await
        .status_path("/api/v1/operations/");
    let place = format!("/api/v1{}", place::<K>(&database).await);
    let answers = send(settings, &told, vec![look(&place)]).await;
    assert_eq!(statuses(&answers), [201]);
    database.discard().await;
}
