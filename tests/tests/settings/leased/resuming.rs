//! The completion worker: for whom it says that a request was accepted, what is kept of the request, and that it goes
//! through the whole application.

use std::time::Duration;

use actix_web::dev::Service;
use actix_web::middleware::{DefaultHeaders, Logger};
use actix_web::test::TestRequest;
use actix_web::web;
use idem_tests::{Database, until};

use super::{Kind, Told, app, column, each, send, statuses};
use crate::open::attempt;

each! {
    the_worker_says_for_whom,
    a_long_account_is_a_digest,
    another_scope_is_no_account,
    what_is_kept_of_a_request,
}

/// Lets the request fail, and then the worker drive it to its end; what the handler has told then. The kept request is
/// looked at in between.
async fn strand_and_resume<K: Kind>(
    request: impl Fn() -> TestRequest,
    kept: impl FnOnce(&str),
) -> Vec<String> {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let settings = async || {
        let builder = K::builder(&database).await;
        builder
            .resume_headers(["X-Tenant"])
            .worker_interval(Duration::from_millis(10))
    };
    let answers = send(settings().await, &told, vec![request()]).await;
    assert_eq!(statuses(&answers), [500]);
    kept(&kept_request::<K>(&database).await.unwrap());

    let idempotency = settings().await.build().unwrap();
    let worker = idempotency.spawn_completion({
        let (idempotency, told) = (idempotency.clone(), told.clone());
        move || {
            let through = told.clone();
            app(&idempotency, &told)
                .wrap_fn(move |request, service| {
                    through.say(format!("through {}", request.path()));
                    service.call(request)
                })
                .wrap(DefaultHeaders::new().add(("x-middleware", "1")))
                .wrap(Logger::default())
        }
    });
    until("nothing is pending", async || {
        (database.pending().await == 0).then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!(
        kept_request::<K>(&database).await,
        None,
        "it has done its duty"
    );
    assert_eq!(told.runs(), 2);

    let answers = send(settings().await, &told, vec![request()]).await;
    assert_eq!(statuses(&answers), [201]);
    assert!(answers[0].replayed());
    assert_eq!(answers[0].body, "a=%20b sent once");
    database.discard().await;
    told.words()
}

async fn kept_request<K: Kind>(database: &Database) -> Option<String> {
    column(database, &format!("{}request{}", K::TEXT.0, K::TEXT.1)).await
}

fn to(path: &str) -> TestRequest {
    attempt(&format!("{path}?a=%20b"), "\"a key\"").set_payload("sent once")
}

async fn the_worker_says_for_whom<K: Kind>() {
    let words = strand_and_resume::<K>(|| to("/background"), |_| {}).await;
    let expected = [
        "through /background",
        "key a key of account:acme",
        "scope Some(\"account:acme\")",
        "account Some(\"acme\")",
        "tenant None",
        "authorization None",
    ];
    assert_eq!(words, expected);
}

async fn a_long_account_is_a_digest<K: Kind>() {
    let long = "x".repeat(300);
    let request = || to("/background").insert_header(("x-account", long.clone()));
    let words = strand_and_resume::<K>(request, |_| {}).await;
    assert!(
        words[2].starts_with("scope Some(\"account:sha256="),
        "{words:?}"
    );
    assert_eq!(words[3], "account None");
}

async fn another_scope_is_no_account<K: Kind>() {
    let request = || to("/background-tenant").insert_header(("x-tenant", "t1"));
    let words = strand_and_resume::<K>(request, |_| {}).await;
    assert_eq!(words[2..4], ["scope Some(\"tenant:t1\")", "account None"]);
    let words = strand_and_resume::<K>(|| to("/background-endpoint"), |_| {}).await;
    let scope = "scope Some(\"endpoint:POST /background-endpoint\")";
    assert_eq!(words[2..4], [scope, "account None"]);
}

async fn what_is_kept_of_a_request<K: Kind>() {
    let request = || {
        to("/background")
            .insert_header(("x-tenant", "t2"))
            .insert_header(("authorization", "Bearer geheim"))
            .insert_header(("cookie", "session=geheim"))
            .insert_header(("content-type", "text/plain"))
            .insert_header(("user-agent", "test"))
    };
    let words = strand_and_resume::<K>(request, |kept| {
        let (head, body) = kept.split_once("\n\n").unwrap();
        assert_eq!(body, "sent once");
        let mut lines = head.lines();
        assert_eq!(lines.next(), Some("POST /background?a=%20b"));
        let mut headers: Vec<_> = lines.collect();
        headers.sort_unstable();
        let expected = [
            "content-type: text/plain",
            "idempotency-key: \"a key\"",
            "x-tenant: t2",
        ];
        assert_eq!(headers, expected);
    })
    .await;
    assert_eq!(words[4..], ["tenant Some(\"t2\")", "authorization None"]);
}
