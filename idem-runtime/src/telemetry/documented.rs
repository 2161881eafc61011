//! The tables of the README are those of the code.

use super::{METRICS, MetricKind, SPANS};

const README: &str = include_str!("../../../README.md");

/// The rows of the README's tables that begin with a name of ours.
fn rows() -> Vec<&'static str> {
    let (_, section) = README.split_once("\n## Metrics and traces\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let is_row = |line: &&str| line.starts_with("| `idempotency");
    section.lines().filter(is_row).collect()
}

#[test]
fn every_name_is_in_the_readme_and_no_other_is() {
    let metrics = METRICS.iter().map(|metric| {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let labels = metric.labels.iter().map(|label| format!("`{label}`"));
        let labels = labels.collect::<Vec<_>>().join(", ");
        format!(
            "| `{}` | {kind} | {labels} | {} |",
            metric.name, metric.description
        )
    });
    let spans = SPANS
        .iter()
        .map(|span| format!("| `{}` | {} |", span.name, span.description));
    let expected: Vec<_> = metrics.chain(spans).collect();
    assert_eq!(rows(), expected, "write:\n{}", expected.join("\n"));
}

#[test]
fn names_say_what_they_are() {
    for metric in METRICS {
        let name = metric.name;
        assert!(name.starts_with("idempotency_"), "{name}");
        let is_counter = metric.kind == MetricKind::Counter;
        assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        let in_seconds = metric.unit == metrics::Unit::Seconds;
        assert_eq!(name.ends_with("_seconds"), in_seconds, "{name}");
    }
}
