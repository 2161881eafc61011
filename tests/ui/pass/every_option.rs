use std::time::Duration;

use actix_web::{App, HttpResponse, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;
use idem_runtime::policy::{BodyForm, ExpiredKeys, InFlight, Isolation, KeyRule, Scope, Store};

#[idempotent]
async fn defaults(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(
    mode = "transaction",
    scope = "tenant",
    retain = "7d",
    store = "success",
    in_flight = "wait 3s",
    key = "optional",
    expired_keys = "refuse",
    fingerprint = "raw",
    body_limit = "64KiB",
    response_limit = "128KiB",
    redact = ["/card/number", "/a~1b/0"],
    timeout = "10s",
    isolation = "serializable",
    retries = 3
)]
async fn others(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = App::new()
        .route("/defaults", web::post().to(defaults))
        .route("/others", web::post().to(others));

    let policies = idem_runtime::policies();
    let [defaults, others] = policies[..] else {
        panic!("{policies:?}");
    };
    assert!(defaults.handler.ends_with("::defaults"));
    assert_eq!(defaults.scope, Scope::Account);
    assert_eq!(defaults.retain, Duration::from_secs(24 * 60 * 60));
    assert_eq!(defaults.store, Store::Final);
    assert_eq!(defaults.in_flight, InFlight::Reject);
    assert_eq!(defaults.key, KeyRule::Required);
    assert_eq!(defaults.expired_keys, ExpiredKeys::Run);
    assert_eq!(defaults.fingerprint, BodyForm::Json);
    assert_eq!(defaults.body_limit, 2 * 1024 * 1024);
    assert_eq!(defaults.response_limit, 1024 * 1024);
    assert!(defaults.redact.is_empty());
    assert_eq!(defaults.timeout, Duration::from_secs(30));
    assert_eq!(defaults.isolation, None);
    assert_eq!(defaults.retries, 0);
    assert_eq!(defaults.lease, None);

    assert!(others.handler.ends_with("::others"));
    assert_eq!(others.scope, Scope::Named("tenant"));
    assert_eq!(others.retain, Duration::from_secs(7 * 24 * 60 * 60));
    assert_eq!(others.store, Store::Success);
    assert_eq!(others.in_flight, InFlight::Wait(Duration::from_secs(3)));
    assert_eq!(others.key, KeyRule::Optional);
    assert_eq!(others.expired_keys, ExpiredKeys::Refuse);
    assert_eq!(others.fingerprint, BodyForm::Raw);
    assert_eq!(others.body_limit, 64 * 1024);
    assert_eq!(others.response_limit, 128 * 1024);
    assert_eq!(others.redact, ["/card/number", "/a~1b/0"]);
    assert_eq!(others.timeout, Duration::from_secs(10));
    assert_eq!(others.isolation, Some(Isolation::Serializable));
    assert_eq!(others.retries, 3);
    assert_eq!(others.lease, None);
}
