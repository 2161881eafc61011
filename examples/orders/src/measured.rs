//! What the program measures, at `GET /metrics` as Prometheus reads it; `grafana.json` shows it. No logic.

use std::time::Duration;

use actix_web::http::header::ContentType;
use actix_web::{HttpResponse, get, web};
use idem_runtime::telemetry;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// From a tenth of a millisecond to a minute.
const SECONDS: &[f64] = &[
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0,
];

/// From a second to a month.
const AGES: &[f64] = &[
    1.0,
    10.0,
    60.0,
    600.0,
    3600.0,
    21_600.0,
    86_400.0,
    604_800.0,
    2_592_000.0,
];

const RATIOS: &[f64] = &[0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0];

/// Before anything is measured.
pub(crate) fn install() -> Result<PrometheusHandle, BuildError> {
    let named = |name: &str| Matcher::Full(name.to_owned());
    let handle = PrometheusBuilder::new()
        .set_buckets(SECONDS)?
        .set_buckets_for_metric(named("idempotency_replay_age_seconds"), AGES)?
        .set_buckets_for_metric(named("idempotency_replay_age_ratio"), RATIOS)?
        .install_recorder()?;
    telemetry::describe();
    Ok(handle)
}

/// Keeps what nobody has scraped yet small.
pub(crate) fn keep(handle: PrometheusHandle) {
    actix_web::rt::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            handle.run_upkeep();
        }
    });
}

/// For Prometheus alone: in production it belongs on an address that clients do not reach.
#[get("/metrics")]
pub(crate) async fn scrape(handle: web::Data<PrometheusHandle>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body(handle.render())
}
