//! What is written into an operation: the truth of its policy, beside what the application has written.

use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::bb8::Pool;
use idem_runtime::Idempotency;
use idem_runtime::openapi::Contract;
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema};
use utoipa::{Modify, OpenApi};

use crate::json;
use crate::shop::Api;

fn document() -> Value {
    let mut document = Api::openapi();
    Contract::new().modify(&mut document);
    json(&document)
}

fn operation<'a>(document: &'a Value, method: &str, path: &str) -> &'a Value {
    let operation = &document["paths"][path][method];
    assert!(operation.is_object(), "no {method} {path}");
    operation
}

fn statuses(operation: &Value) -> Vec<&str> {
    let responses = operation["responses"].as_object().unwrap();
    responses.keys().map(String::as_str).collect()
}

/// The codes that a response has examples of.
fn codes<'a>(operation: &'a Value, status: &str) -> Vec<&'a str> {
    let examples =
        &operation["responses"][status]["content"]["application/problem+json"]["examples"];
    match examples.as_object() {
        Some(examples) => examples.keys().map(String::as_str).collect(),
        None => Vec::new(),
    }
}

fn has_replayed(operation: &Value, status: &str) -> bool {
    operation["responses"][status]["headers"]["Idempotent-Replayed"].is_object()
}

#[test]
fn the_defaults() {
    let document = document();
    let order = operation(&document, "post", "/orders");
    assert_eq!(
        order["x-idempotency"],
        json!({
            "key_header": "Idempotency-Key",
            "replayed_header": "Idempotent-Replayed",
            "mode": "transaction",
            "key": "required",
            "scope": "account",
            "retain_ms": 259_200_000,
            "store": "final",
            "in_flight": "reject",
            "expired_keys": "run",
            "fingerprint": "json",
            "body_limit": 65_536,
        })
    );
    assert_eq!(order["summary"], "Makes an order.");
    assert_eq!(
        order["description"],
        "It may be out of stock.\n\n**Idempotency.** For 3 days after the response, the same request with the same \
         `Idempotency-Key` gets that response again, with `Idempotent-Replayed: true`, and is not run again. A key is unique \
         per account. Recorded are responses with a status of 2xx, 3xx and 4xx, except 401, 403, 408, 425 and 429. While the \
         first request is running, another one gets 409 at once. A key that was used for another request is refused with 422. \
         After a response of the operation itself that is not recorded nothing has been done, and the key is unused. After 409 \
         and 503 it may have been done: the same request with the same key finds out."
    );
    let [key] = &order["parameters"].as_array().unwrap()[..] else {
        panic!("{}", order["parameters"]);
    };
    assert_eq!(
        (&key["name"], &key["in"], &key["required"], &key["schema"]),
        (
            &json!("Idempotency-Key"),
            &json!("header"),
            &json!(true),
            &json!({ "type": "string", "minLength": 1 })
        )
    );
    assert_eq!(
        statuses(order),
        [
            "201", "400", "401", "409", "413", "422", "500", "503", "504"
        ]
    );
    let told = [
        (
            "400",
            vec!["idempotency-key-invalid", "idempotency-key-missing"],
        ),
        ("401", vec!["idempotency-scope-unresolved"]),
        ("409", vec!["idempotency-in-flight"]),
        ("413", vec!["request-too-large"]),
        ("422", vec!["idempotency-key-reused"]),
        (
            "500",
            vec![
                "handler-failed",
                "idempotency-misconfigured",
                "idempotency-record-unreadable",
                "response-not-storable",
            ],
        ),
        ("503", vec!["idempotency-store-unavailable"]),
        ("504", vec!["handler-failed"]),
    ];
    for (status, expected) in told {
        assert_eq!(codes(order, status), expected, "{status}");
        let schema = &order["responses"][status]["content"]["application/problem+json"]["schema"];
        assert_eq!(schema["$ref"], "#/components/schemas/IdempotencyProblem");
    }
    assert_eq!(
        order["responses"]["413"]["description"],
        "`request-too-large`: The body may have at most 65536 bytes."
    );
    let example = "idempotency-in-flight";
    assert_eq!(
        order["responses"]["409"]["content"]["application/problem+json"]["examples"][example],
        json!({
            "summary": "Request in flight",
            "value": {
                "type": "urn:idem:problem:idempotency-in-flight",
                "title": "Request in flight",
                "status": 409,
                "detail": "The first request with this key is still running.",
                "code": example,
                "retryable": true,
                "retry_after": 1,
            }
        })
    );
    let problem = &document["components"]["schemas"]["IdempotencyProblem"];
    assert_eq!(
        problem["required"],
        json!(["type", "title", "status", "detail", "code", "retryable"])
    );
}

#[test]
fn what_the_application_has_written_stays() {
    let document = document();
    let order = operation(&document, "post", "/orders");
    let full = &order["responses"]["409"];
    assert_eq!(
        full["description"],
        "Out of stock.\n\n`idempotency-in-flight`: The first request with this key is still running."
    );
    assert!(full["content"]["text/plain"].is_object(), "{full}");
    assert!(full["headers"]["Retry-After"].is_object(), "{full}");
    let closed = &order["responses"]["503"]["headers"];
    assert_eq!(closed["retry-after"]["description"], "Monday.");
    assert_eq!(closed["Retry-After"], Value::Null, "{closed}");
    for (path, name) in [
        ("/notes/{id}", json!("idempotency-key")),
        ("/pages/{id}", json!(null)),
    ] {
        let own = &operation(&document, "patch", path)["parameters"];
        let names: Vec<_> = own.as_array().unwrap().iter().collect();
        let headers = names.iter().filter(|parameter| parameter["in"] == "header");
        let headers: Vec<_> = headers.map(|parameter| &parameter["name"]).collect();
        assert_eq!(
            headers,
            [&name]
                .into_iter()
                .filter(|name| !name.is_null())
                .collect::<Vec<_>>()
        );
    }
    // Others than the protected ones are not touched.
    let before = json(&Api::openapi());
    assert_eq!(
        operation(&document, "get", "/orders"),
        operation(&before, "get", "/orders")
    );
    assert_eq!(
        document["components"]["responses"],
        before["components"]["responses"]
    );
}

#[test]
fn replays_are_marked_where_they_may_be() {
    let document = document();
    let order = operation(&document, "post", "/orders");
    assert!(has_replayed(order, "201"));
    assert!(has_replayed(order, "409"));
    for ours in ["400", "401", "413", "422", "500", "503", "504"] {
        assert!(!has_replayed(order, ours), "{ours}");
    }
    let shipment = operation(&document, "post", "/orders/{id}/shipments");
    assert!(has_replayed(shipment, "202"));
    assert!(!has_replayed(shipment, "4XX"));
    assert!(has_replayed(
        operation(&document, "put", "/hooks/{id}"),
        "5XX"
    ));
}

#[test]
fn another_policy_is_told_as_it_is() {
    let document = document();
    let hook = operation(&document, "put", "/hooks/{id}");
    let extension = &hook["x-idempotency"];
    assert_eq!(
        (
            &extension["key"],
            &extension["scope"],
            &extension["wait_ms"]
        ),
        (&json!("optional"), &json!("endpoint"), &json!(2000))
    );
    let text = hook["description"].as_str().unwrap();
    for words in [
        "For 1 hour 30 minutes after",
        "per method and route, for all callers together",
        "Every response of the operation is recorded.",
        "waits up to 2 seconds for its response, and then gets 409",
        "A request without a key is run each time",
        "older than that is refused with 410",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let parameters = hook["parameters"].as_array().unwrap();
    let key = parameters.iter().find(|key| key["in"] == "header").unwrap();
    assert_eq!(key["required"], false);
    assert_eq!(codes(hook, "400"), ["idempotency-key-invalid"]);
    assert_eq!(codes(hook, "410"), ["idempotency-key-expired"]);
    assert!(!statuses(hook).contains(&"401"), "{:?}", statuses(hook));
}

#[test]
fn lease_mode_is_told_as_it_is() {
    let document = document();
    let shipment = operation(&document, "post", "/orders/{id}/shipments");
    let extension = &shipment["x-idempotency"];
    assert_eq!(
        (
            &extension["mode"],
            &extension["unresolved"],
            &extension["scope"]
        ),
        (&json!("lease"), &json!("rerun"), &json!("tenant"))
    );
    let text = shipment["description"].as_str().unwrap();
    assert!(text.contains("per `tenant`"), "{text}");
    assert!(
        text.contains("the next one with the same key completes it"),
        "{text}"
    );
    let accepted = &shipment["responses"]["202"];
    assert_eq!(
        accepted["description"],
        "On its way.\n\nThe first request with this key is still running."
    );
    assert!(accepted["headers"]["Location"].is_object(), "{accepted}");
    assert!(accepted["headers"]["Retry-After"].is_object(), "{accepted}");
    assert_eq!(codes(shipment, "409"), ["idempotency-unresolved"]);
    assert_eq!(codes(shipment, "401"), ["idempotency-scope-unresolved"]);
    let failed = &shipment["responses"]["500"]["description"];
    assert!(
        !failed.as_str().unwrap().contains("rolled back"),
        "{failed}"
    );

    let thing = operation(&document, "patch", "/things/{id}");
    assert_eq!(thing["x-idempotency"]["unresolved"], "hold");
    assert_eq!(
        codes(thing, "409"),
        ["idempotency-in-flight", "idempotency-unresolved"]
    );
    assert!(!statuses(thing).contains(&"401"));
    assert_eq!(
        operation(&document, "put", "/things/{id}")["x-idempotency"],
        thing["x-idempotency"]
    );
}

/// Where a range of statuses, or all that are left, have a response, that is what the status had.
#[test]
fn a_range_is_taken_over_by_the_statuses_in_it() {
    let document = document();
    let shipment = operation(&document, "post", "/orders/{id}/shipments");
    let refused = &shipment["responses"]["409"];
    assert!(
        refused["description"]
            .as_str()
            .unwrap()
            .starts_with("Refused.\n\n`idempotency-unresolved`"),
        "{refused}"
    );
    assert!(refused["content"]["text/plain"].is_object(), "{refused}");
    assert_eq!(shipment["responses"]["4XX"]["description"], "Refused.");
    let failed = &shipment["responses"]["503"];
    assert!(
        failed["description"]
            .as_str()
            .unwrap()
            .starts_with("It failed.\n\n`idempotency-store-unavailable`"),
        "{failed}"
    );
    assert!(
        failed["content"]["application/json"].is_object(),
        "{failed}"
    );
}

#[test]
fn a_response_that_others_have_too_is_copied() {
    let document = document();
    let thing = operation(&document, "put", "/things/{id}");
    assert_eq!(thing["responses"]["200"]["description"], "It failed.");
    assert!(has_replayed(thing, "200"));
    assert_eq!(
        document["components"]["responses"]["Failed"]["headers"],
        Value::Null
    );
}

#[test]
fn a_second_time_changes_nothing() {
    let mut twice = Api::openapi();
    Contract::new().modify(&mut twice);
    Contract::new().modify(&mut twice);
    // Equal, and not `assert_eq!`: nobody reads two documents in one message.
    assert!(json(&twice) == document());
}

#[test]
fn a_schema_of_the_applications_own_keeps_its_name() {
    let mut document = Api::openapi();
    let own: RefOr<Schema> = Schema::from(ObjectBuilder::new().build()).into();
    let components = document.components.get_or_insert_default();
    components
        .schemas
        .insert("IdempotencyProblem".to_owned(), own.clone());
    Contract::new().modify(&mut document);
    let document = json(&document);
    assert_eq!(
        document["components"]["schemas"]["IdempotencyProblem"],
        serde_json::to_value(own).unwrap()
    );
    let order = operation(&document, "post", "/orders");
    let schema = &order["responses"]["422"]["content"]["application/problem+json"]["schema"];
    assert!(schema["properties"]["code"].is_object(), "{schema}");
}

#[actix_web::test]
async fn the_settings_of_the_application() {
    let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new("postgres://nowhere");
    let idempotency = Idempotency::builder(Pool::builder().build_unchecked(manager))
        .account_with(|_| None)
        .scope("tenant", |_| None)
        .status_path("/operations")
        .key_header("X-Operation")
        .replayed_header("x-again")
        .problem_base("https://api.example/problems/")
        .strict_keys(true)
        .build()
        .unwrap();
    let mut document = Api::openapi();
    Contract::of(&idempotency).modify(&mut document);
    let document = json(&document);
    let order = operation(&document, "post", "/orders");
    let extension = &order["x-idempotency"];
    assert_eq!(extension["key_header"], "X-Operation");
    assert_eq!(extension["replayed_header"], "X-Again");
    assert_eq!(order["parameters"][0]["name"], "X-Operation");
    let said = order["parameters"][0]["description"].as_str().unwrap();
    assert!(!said.contains("without the quotes"), "{said}");
    assert!(order["responses"]["201"]["headers"]["X-Again"].is_object());
    let examples = &order["responses"]["400"]["content"]["application/problem+json"]["examples"];
    let value = &examples["idempotency-key-invalid"]["value"];
    assert_eq!(
        value["type"],
        "https://api.example/problems/idempotency-key-invalid"
    );
    assert_eq!(
        value["detail"],
        "The key must be a quoted RFC 9651 String without parameters."
    );
    // Those of another kind of connection are somebody else's.
    let local = operation(&document, "post", "/local");
    assert_eq!(local["x-idempotency"], Value::Null);
    let theirs = Contract::of(&idempotency).unmatched(&Api::openapi());
    assert!(
        theirs.iter().all(|one| !one.handler.contains("::shop::")),
        "{theirs:?}"
    );
    let all = operation(&self::document(), "post", "/local").clone();
    assert!(all["x-idempotency"].is_object());
    // The application's own parameter is that of another header now.
    let note = operation(&document, "patch", "/notes/{id}");
    let names = note["parameters"].as_array().unwrap().iter();
    let headers: Vec<_> = names
        .filter(|parameter| parameter["in"] == "header")
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert_eq!(headers, ["idempotency-key", "X-Operation"]);
}

/// A document of which nothing is lost when it is read back.
#[test]
fn the_document_is_one_of_openapi() {
    let written = document();
    assert_eq!(written["openapi"], "3.1.0");
    let read: utoipa::openapi::OpenApi = serde_json::from_value(written.clone()).unwrap();
    assert!(json(&read) == written);
    for response in written["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| {
            let operations = item.as_object().unwrap().values();
            operations.filter_map(|operation| operation["responses"].as_object())
        })
    {
        for (status, response) in response {
            assert!(response["description"].is_string(), "{status}: {response}");
        }
    }
}
