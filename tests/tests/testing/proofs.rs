//! The request that the proofs of our own endpoints begin with, and what its handlers are written with.

use actix_web::HttpResponse;
use actix_web::test::TestRequest;
use idem_runtime::testing::{Proof, Report, Rule, Verdict};
use idem_tests::Database;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::open::marks;

/// The label of every effect.
pub(crate) const MARK: &str = "INSERT INTO marks VALUES ('order')";

#[derive(Deserialize)]
pub(crate) struct Order {
    pub(crate) item: String,
    pub(crate) quantity: f64,
}

/// A response that no second run gives.
pub(crate) fn created(order: &Order) -> HttpResponse {
    let id = Uuid::new_v4();
    HttpResponse::Created()
        .insert_header(("location", format!("/orders/{id}")))
        .append_header(("link", "<b>"))
        .append_header(("link", "<a>"))
        .body(format!(
            "{{ \"order\": \"{id}\",  \"item\": {:?}, \"quantity\": {:?} }}",
            order.item, order.quantity
        ))
}

/// All that there is to be said of the endpoint at this path.
pub(crate) fn proof<'a>(database: &'a Database, path: &'a str) -> Proof<'a> {
    let order = |quantity| json!({"item": "tea", "quantity": quantity});
    let request = move || {
        TestRequest::post()
            .uri(path)
            .insert_header(("x-account", "acme"))
            .set_json(order(json!(1)))
    };
    Proof::of(request)
        .other_body(move |request| request.set_json(order(json!(1.0))))
        .other_body(move |request| request.uri(&format!("{path}?gift")))
        .other_account(|request| request.insert_header(("x-account", "other")))
        .refused_body(|request| request.set_payload("{\"item\": 1}"))
        .effects(async || marks(database, "order").await)
}

/// A proof in which everything was looked at, but for what nobody has said anything about.
#[track_caller]
pub(crate) fn assert_proven(report: &Report) {
    assert!(report.is_proven(), "{report}");
    for &rule in Rule::ALL {
        let verdict = report.verdict(rule);
        let is_proven = verdict == Some(&Verdict::Proven);
        assert!(is_proven || rule == Rule::LateOwner, "{rule:?}: {report}");
    }
}
