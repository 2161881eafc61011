//! What the process has measured, as Prometheus reads it.

use std::error::Error;

use actix_web::{Responder, get, web};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Records from now on.
pub(crate) fn install() -> Result<web::Data<PrometheusHandle>, Box<dyn Error>> {
    let handle = PrometheusBuilder::new().install_recorder()?;
    idem_runtime::telemetry::describe();
    Ok(web::Data::new(handle))
}

#[get("/metrics")]
async fn scrape(handle: web::Data<PrometheusHandle>) -> impl Responder {
    handle.render()
}

pub(crate) fn routes(
    handle: web::Data<PrometheusHandle>,
) -> impl Fn(&mut web::ServiceConfig) + Clone {
    move |config| {
        config.app_data(handle.clone()).service(scrape);
    }
}
