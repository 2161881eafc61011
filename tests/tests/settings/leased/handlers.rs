//! The handlers of these cases. Those with steps are stamped per connection type; the others belong to no backend.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Responder, post, web};
use idem_runtime::{IdempotencyKey, Resumed, Retry, idempotent};

use super::Told;

/// Answers with this status, or asks to be run again.
fn end(status: &str, told: &Told) -> Result<HttpResponse, Retry> {
    told.run();
    match status.parse().ok().map(StatusCode::from_u16) {
        Some(Ok(status)) => Ok(HttpResponse::build(status).body(format!("it is {status}"))),
        _ => Err(Retry::new(status)),
    }
}

#[post("/hold/{status}")]
#[idempotent(mode = "lease")]
async fn hold(status: web::Path<String>, told: web::Data<Told>) -> impl Responder {
    end(&status, &told)
}

#[post("/rerun/{status}")]
#[idempotent(mode = "lease", unresolved = "rerun")]
async fn rerun(status: web::Path<String>, told: web::Data<Told>) -> impl Responder {
    end(&status, &told)
}

#[post("/all/{status}")]
#[idempotent(mode = "lease", store = "all")]
async fn all(status: web::Path<String>, told: web::Data<Told>) -> impl Responder {
    end(&status, &told)
}

#[post("/success/{status}")]
#[idempotent(mode = "lease", store = "success")]
async fn success(status: web::Path<String>, told: web::Data<Told>) -> impl Responder {
    end(&status, &told)
}

/// Its request is kept.
#[post("/kept/{status}")]
#[idempotent(mode = "lease", unresolved = "rerun", resume = "background")]
async fn kept(status: web::Path<String>, told: web::Data<Told>) -> impl Responder {
    end(&status, &told)
}

/// Its duplicates are accepted; it ends in the way of its status.
#[post("/accept/{status}")]
#[idempotent(mode = "lease", in_flight = "accept")]
async fn accept(status: web::Path<String>, told: web::Data<Told>, body: String) -> HttpResponse {
    told.run();
    let status = StatusCode::from_u16(status.parse().unwrap()).unwrap();
    HttpResponse::build(status)
        .insert_header(("content-type", "text/x-test; charset=utf-8"))
        .append_header(("x-two", "one"))
        .append_header(("x-two", "other"))
        .body(body)
}

/// Answers with its body, and keeps some of it to itself.
#[post("/card-leased")]
#[idempotent(mode = "lease", redact = ["/pin"])]
async fn card(body: String) -> HttpResponse {
    HttpResponse::Created()
        .content_type("application/json")
        .body(body)
}

/// Runs for longer than its lease.
#[post("/long")]
#[idempotent(mode = "lease", lease = "1s")]
async fn long(told: web::Data<Told>) -> HttpResponse {
    told.run();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    HttpResponse::Created().body("at last")
}

/// Fails at first; its duplicates wait.
#[post("/wait")]
#[idempotent(
    mode = "lease",
    unresolved = "rerun",
    resume = "background",
    in_flight = "wait 1s"
)]
async fn wait(told: web::Data<Told>) -> HttpResponse {
    match told.run() {
        1 => HttpResponse::InternalServerError().finish(),
        _ => HttpResponse::Created().finish(),
    }
}

/// Runs until it is told that it is enough, under a lease that runs out soon.
#[post("/short")]
#[idempotent(mode = "lease", lease = "1s")]
async fn short(told: web::Data<Told>) -> HttpResponse {
    told.say("entered");
    told.after.notified().await;
    HttpResponse::Created().finish()
}

/// Fails at first, and then takes its time.
#[post("/slow")]
#[idempotent(mode = "lease", unresolved = "rerun", resume = "background")]
async fn slow(told: web::Data<Told>) -> HttpResponse {
    if told.run() == 1 {
        return HttpResponse::InternalServerError().finish();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    HttpResponse::Created().finish()
}

/// Fails at first, and then tells for whom it runs.
fn resume(request: &HttpRequest, key: &IdempotencyKey, body: &str, told: &Told) -> HttpResponse {
    if told.run() == 1 {
        return HttpResponse::InternalServerError().finish();
    }
    let header = |name| {
        request
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap())
    };
    let resumed = Resumed::of(request);
    told.say(format!("key {} of {}", key.as_str(), key.scope()));
    told.say(format!("scope {:?}", resumed.as_ref().map(Resumed::scope)));
    told.say(format!(
        "account {:?}",
        resumed.as_ref().and_then(Resumed::account)
    ));
    told.say(format!("tenant {:?}", header("x-tenant")));
    told.say(format!("authorization {:?}", header("authorization")));
    HttpResponse::Created().body(format!("{} {body}", request.query_string()))
}

macro_rules! resumed {
    ($($name:ident $path:literal ($($option:tt)*);)*) => {$(
        #[post($path)]
        #[idempotent(mode = "lease", unresolved = "rerun", resume = "background", $($option)*)]
        async fn $name(
            request: HttpRequest,
            key: IdempotencyKey,
            body: String,
            told: web::Data<Told>,
        ) -> HttpResponse {
            resume(&request, &key, &body, &told)
        }
    )*};
}

resumed! {
    account "/background" (scope = "account");
    tenant "/background-tenant" (scope = "tenant");
    endpoint "/background-endpoint" (scope = "endpoint");
}

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(hold)
        .service(rerun)
        .service(all)
        .service(success)
        .service(accept)
        .service(kept)
        .service(card)
        .service(long)
        .service(slow)
        .service(wait)
        .service(short)
        .service(account)
        .service(tenant)
        .service(endpoint);
}

macro_rules! runs {
    ($connection:ty; $($name:ident $path:literal ($($option:tt)*);)*) => {$(
        #[post($path)]
        #[idempotent(mode = "lease", $($option)*)]
        async fn $name(
            name: web::Path<String>,
            key: IdempotencyKey,
            told: web::Data<Told>,
            steps: Steps<$connection>,
        ) -> Result<HttpResponse, Failure> {
            runs::play(&name, key.as_str(), &steps, &told).await
        }
    )*};
}

macro_rules! stamp {
    ($module:ident $connection:ty) => {
        pub(super) mod $module {
            use actix_web::{HttpResponse, post, web};
            use idem_runtime::{IdempotencyKey, Steps, idempotent};
            use serde::Deserialize;

            use crate::leased::Told;
            use crate::leased::plays::{Failure, play, transact};
            use crate::leased::runs;

            #[derive(Deserialize)]
            struct How {
                /// Answers 201 whatever the steps have said.
                #[serde(default)]
                swallow: bool,
                /// Takes another step behind them.
                #[serde(default)]
                then: bool,
            }

            #[post("/steps/{play}")]
            #[idempotent(mode = "lease", unresolved = "rerun")]
            async fn played(
                name: web::Path<String>,
                how: web::Query<How>,
                told: web::Data<Told>,
                steps: Steps<$connection>,
            ) -> Result<HttpResponse, Failure> {
                let played = play(&name, &steps, &told).await;
                if !how.swallow {
                    played?;
                }
                if how.then {
                    transact(&steps, "then", "then").await?;
                }
                Ok(HttpResponse::Created().body("done"))
            }

            #[post("/brief/{play}")]
            #[idempotent(mode = "lease", unresolved = "rerun", timeout = "1s", lease = "1s")]
            async fn brief(
                name: web::Path<String>,
                told: web::Data<Told>,
                steps: Steps<$connection>,
            ) -> Result<HttpResponse, Failure> {
                play(&name, &steps, &told).await?;
                Ok(HttpResponse::Created().finish())
            }

            /// Refuses what it has begun, and then goes on.
            #[post("/refusing")]
            #[idempotent(mode = "lease", response_limit = "1KiB")]
            async fn refusing(
                told: web::Data<Told>,
                steps: Steps<$connection>,
            ) -> Result<HttpResponse, Failure> {
                transact(&steps, "first", "refusing").await?;
                match told.run() {
                    1 => Ok(HttpResponse::Forbidden().finish()),
                    _ => {
                        transact(&steps, "second", "refusing").await?;
                        Ok(HttpResponse::Created().finish())
                    }
                }
            }

            /// A step with more to be remembered than one may have.
            #[post("/much")]
            #[idempotent(mode = "lease", unresolved = "rerun", response_limit = "1KiB")]
            async fn much(
                size: String,
                told: web::Data<Told>,
                steps: Steps<$connection>,
            ) -> Result<HttpResponse, Failure> {
                let size = size.parse().unwrap();
                let much: Result<String, Failure> =
                    steps.call("much", async |_| Ok("x".repeat(size))).await;
                let much = much.inspect_err(|error| told.say(format!("{error:?}")))?;
                Ok(HttpResponse::Created().body(much.len().to_string()))
            }

            runs! { $connection;
                run "/run/{play}" (unresolved = "rerun", lease = "4s", response_limit = "1KiB");
                run_held "/run-held/{play}" (unresolved = "hold");
                run_kept "/run-kept/{play}" (unresolved = "rerun", resume = "background");
                run_short "/run-short/{play}" (unresolved = "hold", lease = "1s");
            }

            #[post("/steps-in-transaction")]
            #[idempotent]
            async fn in_transaction(_: Steps<$connection>, _: &mut $connection) -> HttpResponse {
                HttpResponse::Created().finish()
            }

            pub(in crate::leased) fn routes(config: &mut web::ServiceConfig) {
                let unprotected = async |_: Steps<$connection>| HttpResponse::Created();
                config
                    .service(played)
                    .service(brief)
                    .service(refusing)
                    .service(much)
                    .service(run)
                    .service(run_held)
                    .service(run_kept)
                    .service(run_short)
                    .service(in_transaction)
                    .route("/steps-unprotected", web::post().to(unprotected));
            }
        }
    };
}

stamp! { postgres crate::leased::Postgres }
stamp! { mysql crate::leased::Mysql }
stamp! { sqlite crate::leased::Sqlite }
