//! What a process says of itself at `/metrics`: each request is counted once, under how it ended, by whoever answered
//! it. How these cases read it; no case lives here.

mod ages;
mod lease;
mod outcomes;
mod relay;
mod spans;
mod workers;

use std::collections::BTreeMap;

use idem_tests::{App, Request, Stage, until};

/// One scrape.
pub(crate) struct Metrics(String);

impl Metrics {
    pub(crate) async fn of(app: &App) -> Self {
        let answer = app.send(&Request::get("/metrics")).await;
        assert_eq!(answer.status, 200);
        Self(answer.text())
    }

    /// The value of this series; what was never counted is 0.
    pub(crate) fn value(&self, series: &str) -> f64 {
        let value = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
        self.0.lines().find_map(value).unwrap_or_default()
    }

    /// How many requests ended how, as `outcome` or, of other endpoints than this, as `endpoint outcome`.
    fn requests(&self, here: &str) -> BTreeMap<String, u64> {
        let here = format!("POST {here} ");
        let counted = |line: &str| {
            let line = line.strip_prefix(r#"idempotency_requests_total{endpoint=""#)?;
            let (endpoint, line) = line.split_once(r#"",outcome=""#)?;
            let (outcome, count) = line.split_once(r#""} "#)?;
            let name = format!("{endpoint} {outcome}");
            let name = name.strip_prefix(&here).unwrap_or(&name);
            Some((name.to_owned(), count.parse().unwrap()))
        };
        self.0.lines().filter_map(counted).collect()
    }
}

fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    let owned = counts.map(|(name, count)| (name.to_owned(), count));
    owned.into_iter().collect()
}

/// Until the process has counted this so often.
async fn counted(app: &App, series: &str, at_least: f64) {
    until(series, || async {
        (Metrics::of(app).await.value(series) >= at_least).then_some(())
    })
    .await;
}

async fn measured(stage: &Stage) -> App {
    stage.app().argument("--metrics").start().await
}
