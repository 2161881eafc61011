use std::time::Duration;

use actix_web::{App, HttpResponse, web};
use idem_runtime::idempotent;
use idem_runtime::policy::{InFlight, KeyRule, Resume, Scope, Unresolved};

#[idempotent(mode = "lease")]
async fn defaults() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(
    mode = "lease",
    scope = "tenant",
    retain = "7d",
    store = "success",
    in_flight = "accept",
    key = "required",
    fingerprint = "raw",
    body_limit = "64KiB",
    response_limit = "128KiB",
    timeout = "1m",
    lease = "1m",
    unresolved = "rerun",
    resume = "background"
)]
async fn others() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(
    mode = "lease",
    retain = "1s",
    lease = "1s",
    in_flight = "wait 10s",
    unresolved = "rerun",
    resume = "client"
)]
async fn shortest() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = App::new()
        .route("/defaults", web::post().to(defaults))
        .route("/others", web::post().to(others))
        .route("/shortest", web::post().to(shortest));

    let policies = idem_runtime::policies();
    let [defaults, others, shortest] = policies[..] else {
        panic!("{policies:?}");
    };
    let lease = defaults.lease.expect("lease mode");
    assert_eq!(lease.length, Duration::from_secs(2 * 60));
    assert_eq!(lease.unresolved, Unresolved::Hold);
    assert_eq!(lease.resume, Resume::Client);
    assert_eq!(defaults.timeout, Duration::from_secs(20 * 60));
    assert_eq!(defaults.retain, Duration::from_secs(24 * 60 * 60));
    assert_eq!(defaults.in_flight, InFlight::Reject);
    assert_eq!(defaults.key, KeyRule::Required);
    assert_eq!(defaults.isolation, None);
    assert_eq!(defaults.retries, 0);

    let lease = others.lease.expect("lease mode");
    assert_eq!(lease.length, Duration::from_secs(60));
    assert_eq!(lease.unresolved, Unresolved::Rerun);
    assert_eq!(lease.resume, Resume::Background);
    assert_eq!(others.timeout, Duration::from_secs(60));
    assert_eq!(others.in_flight, InFlight::Accept);
    assert_eq!(others.scope, Scope::Named("tenant"));

    let lease = shortest.lease.expect("lease mode");
    assert_eq!(lease.length, Duration::from_secs(1));
    assert_eq!(lease.unresolved, Unresolved::Rerun);
    assert_eq!(lease.resume, Resume::Client);
    assert_eq!(shortest.timeout, Duration::from_secs(10));
    assert_eq!(shortest.in_flight, InFlight::Wait(Duration::from_secs(10)));
}
