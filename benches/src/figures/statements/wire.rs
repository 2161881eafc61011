//! Round trips and statements, read off the wire.

use std::time::Duration;

use idem_tests::{Database, Proxy};

use super::{Kind, ask};
use crate::bench::Bench;
use crate::figure::Figure;

pub(super) const ROUND_TRIPS: &str = "Round trips per request";
const STATEMENTS: &str = "Statements per request";

/// Longer than a client that is not waiting for an answer takes to send the rest.
const QUIET: Duration = Duration::from_millis(40);
const SAMPLES: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wire {
    pub(super) round_trips: usize,
    statements: usize,
}

/// The fewest of several requests: a slow machine can only make them look like more.
pub(super) async fn read(bench: &Bench, database: &Database, kind: Kind) -> Wire {
    let proxy = Proxy::to(database).await;
    let app = bench
        .app(database)
        .pool(1)
        .database_url(proxy.url())
        .start()
        .await;
    // Statements are prepared at their first use.
    let warm = kind.request(&app).await;
    ask(&app, &warm).await;
    let mut fewest = None;
    for _ in 0..SAMPLES {
        let request = kind.request(&app).await;
        proxy.hold(QUIET);
        proxy.clear();
        ask(&app, &request).await;
        let wire = Wire {
            round_trips: proxy.round_trips(),
            statements: proxy.sent().iter().map(|one| statements(&one.sql)).sum(),
        };
        fewest = Some(fewest.map_or(wire, |fewest| wire.min(fewest)));
    }
    fewest.unwrap_or(Wire {
        round_trips: 0,
        statements: 0,
    })
}

/// A message may hold several; none of ours has a semicolon in a literal.
fn statements(sql: &str) -> usize {
    sql.split(';').filter(|one| !one.trim().is_empty()).count()
}

impl Wire {
    pub(super) fn figures(self, kind: Kind) -> [Figure; 2] {
        [
            Figure::count(ROUND_TRIPS, kind.name, self.round_trips as f64, ""),
            Figure::count(STATEMENTS, kind.name, self.statements as f64, "")
                .note("BEGIN and COMMIT included"),
        ]
    }
}
