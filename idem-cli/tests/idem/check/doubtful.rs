//! What does not prove anything is not passed: answers that are alike, options that do not do their job, a server that
//! is busy, gaps that are short.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::Service;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, http::StatusCode};
use futures_util::future::{Either, FutureExt, ready};
use idem_tests::broken::{Defect, Running, Shop, configure};
use serde_json::json;
use tempfile::tempdir;
use uuid::Uuid;

use super::{Server, check, orders, outcomes, row};

/// A right shop, with a path whose queries are refused, and which says something of its own with every answer.
fn picky(shop: Shop) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    move |config| {
        let counted = shop.clone();
        let scope = web::scope("/picky").wrap_fn(|request, service| {
            let answer = match request.query_string().is_empty() {
                true => Either::Left(service.call(request)),
                false => {
                    let refusal = HttpResponse::BadRequest().finish();
                    Either::Right(ready(Ok(request.into_response(refusal))))
                }
            };
            answer.map(|answer| {
                answer.map(|mut answer| {
                    let id = HeaderValue::from_str(&Uuid::new_v4().to_string()).unwrap();
                    let headers = answer.headers_mut();
                    headers.insert(HeaderName::from_static("x-request-id"), id);
                    answer
                })
            })
        });
        let twice = web::get().to(move || {
            let orders = counted.orders();
            async move { HttpResponse::Ok().json(json!({ "lines": 2 * orders, "other": 7 })) }
        });
        config
            .service(scope.configure(configure(shop.clone())))
            .route("/counts", twice);
    }
}

#[actix_web::test]
async fn what_a_handler_refuses_and_what_a_header_says_of_the_moment_is_no_finding() {
    let dir = tempdir().unwrap();
    let shop = Shop::open(Defect::None, dir.path().join("shop.db").to_str().unwrap());
    let running = Running::start(picky(shop));
    let server = format!("http://{}", running.address());
    let (url, count) = (format!("{server}/picky/orders"), format!("{server}/counts"));
    let options = ["--json", "--count", &count, "--count-pointer"];
    let said = check(&url, &[&options[..], &["/lines"]].concat()).await;
    assert_eq!(said.code, 0, "{}", said.out);
    let query = row(&said, "other-query");
    assert_eq!(query["outcome"], "skipped", "{query}");
    let detail = query["detail"].to_string();
    assert!(detail.contains("the handler itself refuses it"), "{detail}");
    // Two lines an order: one effect is what the first request did.
    assert_eq!(row(&said, "retry")["outcome"], "passed");
    assert_eq!(row(&said, "concurrent-duplicates")["outcome"], "passed");
    let observed = said.json()["observed"].to_string();
    assert!(observed.contains("x-request-id"), "{observed}");

    let said = check(&url, &[&options[..], &["/other"]].concat()).await;
    assert_eq!(said.code, 2, "{}", said.out);
    let blind = "--count does not see what the first request did";
    assert!(said.err.contains(blind), "{}", said.err);
}

/// A server that answers so many requests, and then this.
async fn with_an_end(answers: usize, status: u16) -> super::Said {
    let asked = Arc::new(AtomicUsize::new(0));
    let running = Running::start(move |config: &mut ServiceConfig| {
        let asked = Arc::clone(&asked);
        config.default_service(web::to(move || {
            let status = match asked.fetch_add(1, Ordering::SeqCst) < answers {
                true => 201,
                false => status,
            };
            async move { HttpResponse::<BoxBody>::new(StatusCode::from_u16(status).unwrap()) }
        }));
    });
    let other = ["--json", "--other-body", "{}"];
    check(&orders(running.address()), &other).await
}

#[actix_web::test]
async fn a_server_that_is_busy_violates_nothing() {
    for status in [429, 502, 503, 504] {
        let said = with_an_end(4, status).await;
        assert_eq!(said.code, 2, "{status}: {}", said.out);
        let found = outcomes(&said);
        assert!(!found.contains_key("violated"), "{status}: {}", said.out);
        assert!(found["unchecked"].len() > 10, "{status}: {}", said.out);
    }
    let said = with_an_end(0, 303).await;
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(said.err.contains("303"), "{}", said.err);
}

#[actix_web::test]
async fn a_short_gap_is_found() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("shop.db");
    let shop = Shop::open(Defect::CheckThenAct, path.to_str().unwrap())
        .with_call(Duration::from_millis(4));
    let running = Running::start(configure(shop));
    let said = check(&orders(running.address()), &["--json"]).await;
    assert_eq!(said.code, 1, "{}", said.out);
    let concurrent = row(&said, "concurrent-duplicates");
    assert_eq!(concurrent["outcome"], "violated", "{concurrent}");
}

#[actix_web::test]
async fn a_client_goes_before_its_answer_or_not_at_all() {
    let server = Server::with(Defect::Abandoned);
    let said = server.check(&["--json", "--timeout", "2s"]).await;
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(outcomes(&said)["violated"], ["dropped-client"]);
    let server = Server::with(Defect::None);
    let url = server.orders();
    let said = server.check(&["--json", "--count", &url]).await.done();
    let dropped = row(&said, "dropped-client");
    assert_eq!(dropped["outcome"], "passed", "{dropped}");
    let detail = dropped["detail"].to_string();
    assert!(detail.contains("ms after its request"), "{detail}");
}

#[actix_web::test]
async fn what_is_required_is_made_in_full() {
    let server = Server::with(Defect::None);
    let said = server.check(&["--json"]).await.done();
    let document = said.json();
    assert_eq!(document["conformant"], true);
    assert_eq!(document["counts"]["passed"], 1, "{}", said.out);
    assert_eq!(document["counts"]["skipped"], 7, "{}", said.out);
    assert_eq!(document["counts"]["answers-only"], 13, "{}", said.out);
    let said = server
        .check(&["--json", "--require", "mismatch,replay-marker"])
        .await;
    assert_eq!(said.code, 2, "{}", said.out);
    assert_eq!(outcomes(&said)["unchecked"], ["mismatch"]);
    let said = server.check_all(&["--json", "--require", "all"]).await;
    assert_eq!(said.code, 0, "{}", said.out);
    let said = server.check(&["--require", "retries"]).await;
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(said.err.contains("\"retries\""), "{}", said.err);
}
