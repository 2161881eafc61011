//! Endpoints of ours with options that change what a client sees, against the profile that documents that.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, get, post, web};
use diesel::SqliteConnection;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8::Pool};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use idem_runtime::{Idempotency, idempotent, pool};
use idem_tests::Backend;
use idem_tests::broken::Running;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{BOB, check, outcomes, row};
use crate::common::Said;
use crate::common::place::Place;

type Connection = SyncConnectionWrapper<SqliteConnection>;
type Effects = web::Data<Arc<AtomicI64>>;

const BODY: &str = r#"{"item": "coffee", "quantity": 2}"#;
const SLOW: &str = r#"{"item": "tea", "quantity": 1, "sleep_ms": 2500}"#;

async fn take(order: &Value, effects: &Effects) -> HttpResponse {
    let pause = order["sleep_ms"].as_u64().unwrap_or(50);
    tokio::time::sleep(Duration::from_millis(pause)).await;
    effects.fetch_add(1, Ordering::SeqCst);
    HttpResponse::Created()
        .insert_header(("ETag", "\"whole\""))
        .json(json!({ "order": Uuid::new_v4().to_string(), "card": { "number": Uuid::new_v4().to_string() } }))
}

#[post("/accept")]
#[idempotent(mode = "lease", in_flight = "accept")]
async fn accept(order: web::Json<Value>, effects: Effects) -> HttpResponse {
    take(&order, &effects).await
}

#[post("/wait")]
#[idempotent(mode = "lease", in_flight = "wait 20s", timeout = "25s")]
async fn wait(order: web::Json<Value>, effects: Effects) -> HttpResponse {
    take(&order, &effects).await
}

#[post("/card")]
#[idempotent(mode = "lease", redact = ["/card/number"])]
async fn card(order: web::Json<Value>, effects: Effects) -> HttpResponse {
    take(&order, &effects).await
}

#[get("/effects")]
async fn count(effects: Effects) -> HttpResponse {
    HttpResponse::Ok().json(effects.load(Ordering::SeqCst))
}

/// Says what comes of the endpoint at this path by this profile, and by none.
async fn checked(path: &str, profile: &str) -> (Said, Said) {
    let place = Place::fresh(Backend::Sqlite).await;
    let file = place.database.url().strip_prefix("sqlite://").unwrap();
    let config = pool::sqlite_config();
    let manager = AsyncDieselConnectionManager::<Connection>::new_with_config(file, config);
    let pool = Pool::builder().max_size(8).build(manager).await.unwrap();
    let protection = Idempotency::builder(pool)
        .status_path("/operations")
        .account_with(|request: &HttpRequest| {
            let account = request.headers().get("authorization")?;
            account.to_str().ok().map(str::to_owned)
        })
        .build()
        .unwrap();
    let done = Arc::new(AtomicI64::new(0));
    let running = Running::start(move |config| {
        config
            .app_data(web::Data::new(protection.clone()))
            .app_data(web::Data::new(Arc::clone(&done)))
            .service((accept, wait, card, count))
            .service(protection.status_resource());
    });
    let server = format!("http://{}", running.address());
    let url = format!("{server}{path}");
    let counter = format!("{server}/effects");
    let file = place.dir.path().join("ours.toml");
    fs::write(&file, profile).unwrap();
    let options = [
        "--json",
        "--other-header",
        BOB,
        "--other-body",
        BODY,
        "--slow-body",
        SLOW,
        "--count",
        &counter,
        "--profile",
    ];
    let with = check(&url, &[&options[..], &[file.to_str().unwrap()]].concat()).await;
    let without = check(&url, &[&options[..], &["strict"]].concat()).await;
    drop(running);
    place.discard().await;
    (with, without)
}

#[actix_web::test]
async fn a_duplicate_that_is_accepted_is_told_that_it_runs() {
    let profile = "based-on = 'strict'\n[in-flight]\nstatus = 202\nretry-after = true";
    let (with, without) = checked("/accept", profile).await;
    assert_eq!(with.code, 0, "{}", with.out);
    let found = outcomes(&with);
    for id in ["in-flight", "dropped-client", "slow-retried"] {
        assert!(found["deviation"].contains(&id.to_owned()), "{}", with.out);
    }
    assert!(!found.contains_key("violated"), "{}", with.out);
    let detail = row(&with, "slow-retried")["detail"].to_string();
    assert!(detail.contains("it ran for "), "{detail}");
    // Without a word on it, it is one.
    let violated = &outcomes(&without)["violated"];
    assert!(violated.contains(&"in-flight".to_owned()), "{violated:?}");
}

#[actix_web::test]
async fn a_duplicate_that_waits_is_documented() {
    let profile = "based-on = 'strict'\n[deviations]\nin-flight = 'it waits for the answer'";
    let (with, without) = checked("/wait", profile).await;
    assert_eq!(with.code, 0, "{}", with.out);
    assert_eq!(outcomes(&with)["deviation"], ["in-flight"], "{}", with.out);
    assert_eq!(outcomes(&without)["violated"], ["in-flight"]);
}

#[actix_web::test]
async fn what_is_redacted_is_documented() {
    let profile = "based-on = 'strict'\nredact = ['/card/number']";
    let (with, without) = checked("/card", profile).await;
    assert_eq!(with.code, 0, "{}", with.out);
    assert!(!outcomes(&with).contains_key("deviation"), "{}", with.out);
    assert!(outcomes(&without)["violated"].contains(&"retry".to_owned()));
    let notes = with.json()["notes"].to_string();
    assert!(notes.contains("/card/number"), "{notes}");
}
