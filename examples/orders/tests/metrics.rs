//! What the program measures can be scraped, and the dashboard beside it shows nothing that is not measured.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Orders, Request, on_postgres, until};
use idem_runtime::telemetry::{METRICS, MetricKind};

const DASHBOARD: &str = include_str!("../grafana.json");

#[test]
fn what_was_asked_is_measured_on_sqlite() {
    what_was_asked_is_measured(Orders::on_sqlite());
}

#[test]
fn what_was_asked_is_measured_on_postgres() {
    on_postgres("metrics", what_was_asked_is_measured);
}

fn what_was_asked_is_measured(mut orders: Orders) {
    let [first, retry, _, other, ship] = orders.commands();
    let sent = [&first, &retry, &other, &ship].map(|request| request.send().status);
    assert_eq!(sent, [201, 201, 422, 201]);
    let scrape = Request::get(&first.address, "/metrics");
    let answer = scrape.send();
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let counted = |endpoint: &str, outcome: &str| {
        format!(r#"idempotency_requests_total{{endpoint="{endpoint}",outcome="{outcome}"}} 1"#)
    };
    for series in [
        counted("POST /orders", "executed"),
        counted("POST /orders", "replayed"),
        counted("POST /orders", "mismatch"),
        counted("POST /orders/{id}/shipments", "executed"),
        r#"idempotency_replay_age_ratio_bucket{endpoint="POST /orders",le="0.01"} 1"#.to_owned(),
        "idempotency_operations_limit 10000".to_owned(),
        "# TYPE idempotency_handler_seconds histogram".to_owned(),
    ] {
        let found = answer.text().lines().any(|line| line == series);
        assert!(found, "{series} in {}", answer.text());
    }
    until(|| {
        let sent = "idempotency_outbox_sent_total 1";
        let scraped = scrape.send();
        scraped
            .text()
            .lines()
            .any(|line| line == sent)
            .then_some(())
    });
    // Whatever it is called, it is in the table.
    for name in scrape.send().text().lines().filter_map(type_of) {
        assert!(METRICS.iter().any(|metric| metric.name == name), "{name}");
    }
}

/// The metric whose type this line says.
fn type_of(line: &str) -> Option<&str> {
    let name = line.strip_prefix("# TYPE ")?;
    name.split(' ').next()
}

#[test]
fn the_dashboard_shows_what_is_measured() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let shown: Vec<_> = targets
        .flat_map(|target| names(target["expr"].as_str().unwrap()))
        .collect();
    for (name, labels) in &shown {
        let metric = METRICS.iter().find(|metric| match metric.kind {
            MetricKind::Histogram => name.strip_suffix("_bucket") == Some(metric.name),
            _ => name == metric.name,
        });
        let metric = metric.unwrap_or_else(|| panic!("{name} is not measured"));
        for label in labels {
            assert!(metric.labels.contains(label), "{name} has no {label}");
        }
    }
    for metric in METRICS {
        let is_shown = shown.iter().any(|(name, _)| name.starts_with(metric.name));
        assert!(is_shown, "{} is not shown", metric.name);
    }
}

/// The metrics of an expression, each with the labels that it is narrowed by.
fn names(expression: &str) -> Vec<(String, Vec<&str>)> {
    let starts = expression.match_indices("idempotency_");
    starts
        .map(|(start, _)| {
            let rest = &expression[start..];
            let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let selector = behind.strip_prefix('{').and_then(|s| s.split('}').next());
            let labels = selector
                .into_iter()
                .flat_map(|selector| selector.split(", "));
            let labels = labels.map(|label| label.split(['=', '!']).next().unwrap());
            (name.to_owned(), labels.collect())
        })
        .collect()
}
