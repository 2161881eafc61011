//! The document of the API, as the program serves it: every protected operation says how its retries are safe, and what it
//! says is what the program does.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Orders, Request, on_postgres};
use serde_json::{Value, json};

/// The protected operations: path, scope, how long a response is honoured (in hours), whether it is in lease mode.
const PROTECTED: [(&str, &str, u64, bool); 5] = [
    ("/orders", "account", 72, false),
    ("/orders/{id}/cancel", "account", 24, false),
    ("/orders/{id}/payments", "account", 168, false),
    ("/orders/{id}/shipments", "account", 72, true),
    ("/receipts", "endpoint", 48, false),
];

#[test]
fn the_document_tells_the_contract_on_sqlite() {
    the_document_tells_the_contract(Orders::on_sqlite());
}

#[test]
fn the_document_tells_the_contract_on_postgres() {
    on_postgres("document", the_document_tells_the_contract);
}

fn the_document_tells_the_contract(mut orders: Orders) {
    let [order] = orders.commands();
    let document = served(&order.address);
    let protected: Vec<_> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().values().map(move |it| (path, it)))
        .filter(|(_, operation)| operation["x-idempotency"].is_object())
        .collect();
    let paths: Vec<_> = protected.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, PROTECTED.map(|(path, ..)| path));
    for ((_, operation), (path, scope, hours, is_leased)) in protected.into_iter().zip(PROTECTED) {
        let terms = &operation["x-idempotency"];
        assert_eq!(terms["scope"], scope, "{path}");
        assert_eq!(terms["retain_ms"], hours * 3_600_000, "{path}");
        assert_eq!(terms["mode"] == "lease", is_leased, "{path}");
        let days = match hours / 24 {
            1 => "1 day".to_owned(),
            days => format!("{days} days"),
        };
        let text = operation["description"].as_str().unwrap();
        assert!(
            text.contains(&format!("For {days} after the response")),
            "{text}"
        );

        let parameters = operation["parameters"].as_array().unwrap();
        let mut keys = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "header");
        let key = keys.next().unwrap();
        assert_eq!(
            (&key["name"], &key["required"]),
            (&json!("Idempotency-Key"), &json!(true))
        );
        assert_eq!(keys.next(), None);

        for status in ["400", "409", "413", "422", "500", "503", "504"] {
            has_problem(operation, path, status);
        }
        if scope == "account" {
            has_problem(operation, path, "401");
        }
        let success = operation["responses"].as_object().unwrap().iter();
        let mut success = success.filter(|(status, _)| status.starts_with('2'));
        let (_, success) = success.next().unwrap();
        assert!(
            success["headers"]["Idempotent-Replayed"].is_object(),
            "{path}: {success}"
        );
    }
}

#[track_caller]
fn has_problem(operation: &Value, path: &str, status: &str) {
    let response = &operation["responses"][status];
    let content = &response["content"]["application/problem+json"];
    assert_eq!(
        content["schema"]["$ref"], "#/components/schemas/IdempotencyProblem",
        "{path} {status}: {response}"
    );
    assert!(
        content["examples"].is_object(),
        "{path} {status}: {response}"
    );
}

/// What the document shows as an example is on the wire, byte for byte but for the order of members.
#[test]
fn the_examples_are_the_answers() {
    let mut orders = Orders::on_sqlite();
    let [order, _, _, other] = orders.commands();
    let document = served(&order.address);
    let responses = &document["paths"]["/orders"]["post"]["responses"];
    let example = |answer: &Value| {
        let status = answer["status"].to_string();
        let content = &responses[status]["content"]["application/problem+json"];
        content["examples"][answer["code"].as_str().unwrap()]["value"].clone()
    };

    let missing = order.with("Idempotency-Key: ", "No-Key: ").send();
    let malformed = order.with("Idempotency-Key: ", "Idempotency-Key: ,").send();
    assert_eq!(order.send().status, 201);
    let reused = other.send();
    for (answer, status) in [(missing, 400), (malformed, 400), (reused, 422)] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.json(), example(&answer.json()));
    }
}

#[test]
fn swagger_ui_shows_it() {
    let mut orders = Orders::on_sqlite();
    orders.says("/docs/");
    let [order] = orders.commands();
    let page = Request::get(&order.address, "/docs/").send();
    assert_eq!(page.status, 200, "{page:?}");
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    let settings = Request::get(&order.address, "/docs/swagger-initializer.js").send();
    assert_eq!(settings.status, 200, "{settings:?}");
    assert!(settings.text().contains("/openapi.json"), "{settings:?}");
    let bundle = Request::get(&order.address, "/docs/swagger-ui-bundle.js").send();
    assert_eq!(bundle.status, 200);
}

fn served(address: &str) -> Value {
    let response = Request::get(address, "/openapi.json").send();
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    response.json()
}
