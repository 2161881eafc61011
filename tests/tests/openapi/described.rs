//! The list of all policies, for people and for programs.

use serde_json::{Value, json};

fn entry(handler: &str) -> Value {
    let description = serde_json::to_value(idem_runtime::describe()).unwrap();
    let policies = description["policies"].as_array().unwrap();
    let mut found = policies
        .iter()
        .filter(|policy| policy["handler"] == handler);
    let entry = found.next().unwrap_or_else(|| panic!("no {handler}"));
    assert_eq!(found.next(), None);
    entry.clone()
}

#[test]
fn one_in_transaction_mode() {
    assert_eq!(
        entry("openapi::shop::take_hook"),
        json!({
            "handler": "openapi::shop::take_hook",
            "endpoints": ["PUT /hooks/{id}"],
            "mode": "transaction",
            "key": "optional",
            "scope": "endpoint",
            "retain_ms": 5_400_000,
            "store": "all",
            "in_flight": "wait",
            "wait_ms": 2000,
            "expired_keys": "refuse",
            "fingerprint": "json",
            "body_limit": 2_097_152,
            "response_limit": 1_048_576,
            "timeout_ms": 30_000,
            "retries": 0,
        })
    );
}

#[test]
fn one_in_lease_mode() {
    assert_eq!(
        entry("openapi::shop::ship_order"),
        json!({
            "handler": "openapi::shop::ship_order",
            "endpoints": ["POST /orders/{id}/shipments"],
            "mode": "lease",
            "key": "required",
            "scope": "tenant",
            "retain_ms": 86_400_000,
            "store": "success",
            "in_flight": "accept",
            "expired_keys": "run",
            "fingerprint": "json",
            "body_limit": 2_097_152,
            "unresolved": "rerun",
            "response_limit": 1_048_576,
            "timeout_ms": 1_200_000,
            "retries": 0,
            "lease_ms": 120_000,
            "resume": "client",
        })
    );
}

#[test]
fn one_without_a_description_has_no_endpoint() {
    let entry = entry("openapi::matching::outer::inner::nest");
    assert_eq!(entry["endpoints"], json!([]));
}

#[test]
fn a_table_with_a_line_for_each() {
    let table = idem_runtime::describe().to_markdown();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 2 + idem_runtime::policies().len());
    assert_eq!(
        lines[0],
        "| endpoint | handler | mode | scope | key | retain | store | in flight | largest body | largest response | timeout |"
    );
    let width = |line: &str| line.matches('|').count();
    assert!(
        lines.iter().all(|line| width(line) == width(lines[0])),
        "{table}"
    );
    for line in [
        "| POST /orders | `openapi::shop::create_order` | transaction | account | required | 3 days | final | reject | 64 KiB \
         | 1 MiB | 30 seconds |",
        "| POST /orders/{id}/shipments | `openapi::shop::ship_order` | lease of 2 minutes, rerun | tenant | required | 1 day \
         | success | accept | 2 MiB | 1 MiB | 20 minutes |",
        "| PUT /things/{id}, PATCH /things/{id} | `openapi::shop::change_thing` | lease of 2 minutes, hold | global | required \
         | 1 day | final | reject | 2 MiB | 1 MiB | 20 minutes |",
    ] {
        assert!(lines.contains(&line), "no {line} in\n{table}");
    }
}
