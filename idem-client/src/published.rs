//! How long a server retains, read from what it publishes.
//!
//! Pure values: who fetches the document is the caller.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

const EXTENSION: &str = "x-idempotency";
const RETAIN: &str = "retain_ms";

/// How long the server retains for one operation of its OpenAPI document: `x-idempotency`, as `idem-runtime` writes it. `None` if the
/// document does not say.
///
/// `path` is the one of the document, with its parameters as they stand there.
///
/// ```
/// # use std::time::Duration;
/// use idem_client::reqwest::Method;
///
/// let document = serde_json::json!({
///     "paths": { "/orders/{id}/cancel": { "post": { "x-idempotency": { "retain_ms": 86_400_000 } } } }
/// });
/// let retention = idem_client::published::retention(&document, &Method::POST, "/orders/{id}/cancel");
/// assert_eq!(retention, Some(Duration::from_secs(24 * 60 * 60)));
/// ```
#[must_use]
pub fn retention(document: &Value, method: &Method, path: &str) -> Option<Duration> {
    let operation = document.get("paths")?.get(path)?;
    let operation = operation.get(method.as_str().to_ascii_lowercase())?;
    of(operation.get(EXTENSION)?)
}

/// The shortest retention in an OpenAPI document, or in what `idem_runtime::describe()` says as JSON: right for every operation of
/// the server. `None` if there is none in it.
#[must_use]
pub fn shortest_retention(document: &Value) -> Option<Duration> {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let operations = members(&document["paths"]);
    let operations = operations.values().flat_map(members);
    let of_operations = operations.filter_map(|(_, operation)| of(operation.get(EXTENSION)?));
    let policies = document["policies"].as_array();
    let of_policies = policies.into_iter().flatten().filter_map(of);
    of_operations.chain(of_policies).min()
}

fn of(terms: &Value) -> Option<Duration> {
    terms.get(RETAIN)?.as_u64().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shortest_of_all() {
        let document = json!({ "paths": {
            "/a": { "post": { "x-idempotency": { "retain_ms": 3000 } }, "get": {}, "parameters": [] },
            "/b": { "post": { "x-idempotency": { "retain_ms": 2000 } } },
        }});
        assert_eq!(shortest_retention(&document), Some(Duration::from_secs(2)));
        let described = json!({ "policies": [{ "retain_ms": 5000 }, { "retain_ms": 4000 }, {}] });
        assert_eq!(shortest_retention(&described), Some(Duration::from_secs(4)));
        for nothing in [json!({}), json!([]), json!({ "paths": [], "policies": {} })] {
            assert_eq!(shortest_retention(&nothing), None);
        }
    }

    #[test]
    fn an_operation_that_says_nothing_has_none() {
        let document =
            json!({ "paths": { "/a": { "post": { "x-idempotency": { "retain_ms": "1d" } } } } });
        for (method, path) in [
            (Method::POST, "/a"),
            (Method::PUT, "/a"),
            (Method::POST, "/b"),
        ] {
            assert_eq!(retention(&document, &method, path), None);
        }
    }
}
