//! What the rows tell of the policies that wrote them: their scopes and retentions. Ids are digests, so that the first
//! rows in their order are a random sample.

use std::collections::BTreeMap;
use std::time::Duration;

use idem_runtime::inspect::{self, Filter, Operation};

use super::findings::Finding;
use crate::catalog::Catalog;
use crate::output::length;

const SCOPES: &str = "scopes";
const RETENTION: &str = "retention";

/// Rows that are looked at.
const SAMPLE: u32 = 10_000;

/// Clients retry after an outage, and people come back after lunch.
const SHORT: Duration = Duration::from_secs(3_600);

/// Of rows without their steps and bodies, which may be long.
pub(super) async fn check<C: Catalog>(conn: &mut C) -> [Finding; 2] {
    let mut filter = Filter::default();
    filter.is_brief = true;
    match inspect::operations(conn, &filter, None, SAMPLE).await {
        Ok(rows) => [scopes(&rows), retention(&rows)],
        Err(error) => [SCOPES, RETENTION].map(|check| Finding::unknown(check, &error)),
    }
}

fn scopes(rows: &[Operation]) -> Finding {
    let mut counts = BTreeMap::new();
    for row in rows {
        let name = row.scope.split(':').next().unwrap_or_default();
        *counts.entry(name).or_insert(0_u32) += 1;
    }
    let used: Vec<_> = counts
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    let says = format!("of {} rows looked at: {}", rows.len(), used.join(", "));
    let to_do = "In the scopes global and endpoint a caller who sends another caller's key gets that one's response. \
                 Use `scope = \"account\"`, unless keys are unique among all callers.";
    match counts.contains_key("global") || counts.contains_key("endpoint") {
        true => Finding::warning(SCOPES, says, to_do),
        false if rows.is_empty() => Finding::ok(SCOPES, "there are no rows to tell by"),
        false => Finding::ok(SCOPES, says),
    }
}

fn retention(rows: &[Operation]) -> Finding {
    // In whole seconds: two clock readings lie between the times of a row.
    let retained = rows
        .iter()
        .filter_map(|row| Some((row.retain?.as_secs_f64().round(), row)));
    let Some((seconds, row)) = retained.min_by(|one, other| one.0.total_cmp(&other.0)) else {
        return Finding::ok(RETENTION, "there are no records to tell by");
    };
    let shortest = Duration::from_secs_f64(seconds);
    let says = format!(
        "the shortest among {} rows looked at is {}, of {}; how late retries come is recorded nowhere",
        rows.len(),
        length(shortest),
        row.endpoint
    );
    let to_do = "A retry that comes after `retain` is a new operation. Make `retain` longer than the longest time \
                 after which a client of that endpoint retries.";
    match shortest < SHORT {
        true => Finding::warning(RETENTION, says, to_do),
        false => Finding::ok(RETENTION, says),
    }
}
