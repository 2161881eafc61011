//! A client reads off what is published how long a key holds.

use std::time::Duration;

use idem_client::published::{retention, shortest_retention};
use idem_client::reqwest::Method;
use idem_runtime::openapi::Contract;
use utoipa::{Modify, OpenApi};

use crate::json;
use crate::shop::Api;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn of_one_operation_of_the_document() {
    let mut document = Api::openapi();
    Contract::new().modify(&mut document);
    let document = json(&document);
    for (method, path, minutes) in [
        (Method::POST, "/orders", 72 * 60),
        (Method::PUT, "/hooks/{id}", 90),
    ] {
        let found = retention(&document, &method, path);
        assert_eq!(found, Some(MINUTE * minutes), "{method} {path}");
    }
    assert!(shortest_retention(&document).unwrap() <= MINUTE * 90);
}

#[test]
fn of_all_policies() {
    let described = serde_json::to_value(idem_runtime::describe()).unwrap();
    let policies = idem_runtime::policies();
    let shortest = policies.iter().map(|policy| policy.retain).min();
    assert!(shortest.is_some());
    assert_eq!(shortest_retention(&described), shortest);
}
