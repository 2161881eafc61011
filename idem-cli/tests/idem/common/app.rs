//! A small application: what it leaves in the tables is what an operator finds there.

use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, HttpRequest, HttpResponse, post, web};
use diesel::SqliteConnection;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8::Pool};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncMysqlConnection, AsyncPgConnection};
use idem_runtime::{Idempotency, Steps, idempotent, pool};
use idem_tests::Backend;

use super::place::Place;

/// A header that says that the courier books today.
const WELL: &str = "x-well";

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) is_replay: bool,
    pub(crate) courier: Option<String>,
}

macro_rules! application {
    ($module:ident, $connection:ty) => {
        mod $module {
            use super::*;
            use idem_runtime::{IdempotencyKey, outbox};

            pub(super) type Connection = $connection;

            #[post("/orders")]
            #[idempotent(retain = "24h")]
            async fn order(body: String, _conn: &mut Connection) -> HttpResponse {
                HttpResponse::Created()
                    .insert_header(("x-order", "7"))
                    .body(format!("ordered: {body}"))
            }

            #[post("/global")]
            #[idempotent(scope = "global", retain = "24h")]
            async fn global(_conn: &mut Connection) -> HttpResponse {
                HttpResponse::Ok().finish()
            }

            #[post("/brief")]
            #[idempotent(retain = "2m")]
            async fn brief(_conn: &mut Connection) -> HttpResponse {
                HttpResponse::Ok().finish()
            }

            #[post("/messages")]
            #[idempotent]
            async fn message(key: IdempotencyKey, conn: &mut Connection) -> HttpResponse {
                match outbox::enqueue(conn, &key, "orders.created", &7).await {
                    Ok(_) => HttpResponse::Accepted().finish(),
                    Err(_) => HttpResponse::InternalServerError().finish(),
                }
            }

            #[post("/parcels")]
            #[idempotent(mode = "lease")]
            async fn parcel(
                request: HttpRequest,
                steps: Steps<Connection>,
                body: String,
            ) -> HttpResponse {
                let weighed = steps
                    .call("weigh", async |_| {
                        Ok::<_, idem_runtime::StepError>(body.len())
                    })
                    .await;
                match weighed {
                    Ok(weight) if request.headers().contains_key(WELL) => {
                        HttpResponse::Created().body(format!("a parcel of {weight}"))
                    }
                    _ => HttpResponse::InternalServerError().finish(),
                }
            }

            pub(super) async fn protection(
                url: &str,
                config: diesel_async::pooled_connection::ManagerConfig<Connection>,
            ) -> Idempotency<Connection> {
                let manager = AsyncDieselConnectionManager::new_with_config(url, config);
                let pool = Pool::builder().max_size(2).build(manager).await.unwrap();
                Idempotency::builder(pool)
                    .account_with(|request: &HttpRequest| {
                        let account = request.headers().get("x-account")?;
                        account.to_str().ok().map(str::to_owned)
                    })
                    // Handlers of other tests of this program accept duplicates.
                    .status_path("/operations")
                    .build()
                    .unwrap()
            }

            pub(super) fn routes(config: &mut web::ServiceConfig) {
                config
                    .service(order)
                    .service(global)
                    .service(brief)
                    .service(message);
                config.service(parcel);
            }
        }
    };
}

application! { postgres, AsyncPgConnection }
application! { mysql, AsyncMysqlConnection }
application! { sqlite, SyncConnectionWrapper<SqliteConnection> }

/// Sends one request of this account.
pub(crate) async fn ask(place: &Place, account: &str, path: &str, key: &str, body: &str) -> Answer {
    let request = TestRequest::post()
        .uri(path)
        .insert_header(("idempotency-key", key))
        .insert_header(("x-account", account))
        .set_payload(body.to_owned());
    answer(place, request.insert_header((WELL, ""))).await
}

async fn answer(place: &Place, request: TestRequest) -> Answer {
    let url = place.database.url();
    match place.database.backend() {
        Backend::Postgres => {
            let protection = postgres::protection(url, pool::postgres_config()).await;
            send(protection, postgres::routes, request).await
        }
        Backend::Mysql => {
            let protection = mysql::protection(url, pool::mysql_config()).await;
            send(protection, mysql::routes, request).await
        }
        Backend::Sqlite => {
            let file = url.strip_prefix("sqlite://").unwrap();
            let protection = sqlite::protection(file, pool::sqlite_config()).await;
            send(protection, sqlite::routes, request).await
        }
    }
}

async fn send<C: idem_runtime::Backend>(
    protection: Idempotency<C>,
    routes: impl FnOnce(&mut web::ServiceConfig),
    request: TestRequest,
) -> Answer {
    let app = App::new()
        .app_data(web::Data::new(protection))
        .configure(routes);
    let app = init_service(app).await;
    let response = call_service(&app, request.to_request()).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = read_body(response).await;
    let courier = headers
        .get("x-courier")
        .map(|value| value.to_str().unwrap().to_owned());
    Answer {
        status: status.as_u16(),
        body: String::from_utf8(body.to_vec()).unwrap(),
        is_replay: headers.contains_key("idempotent-replayed"),
        courier,
    }
}

/// An order of `alice`, recorded.
pub(crate) async fn order(place: &Place, key: &str) {
    let answer = ask(place, "alice", "/orders", key, "tea").await;
    assert_eq!(answer.status, StatusCode::CREATED.as_u16(), "{answer:?}");
}

/// What is in it.
pub(crate) const PARCEL: &str = "a kettle";

/// A parcel of `alice` of which nobody knows whether it was booked.
pub(crate) async fn unresolved(place: &Place, key: &str) {
    let request = TestRequest::post()
        .uri("/parcels")
        .insert_header(("idempotency-key", key))
        .insert_header(("x-account", "alice"))
        .set_payload(PARCEL);
    let answer = answer(place, request).await;
    assert_eq!(
        answer.status,
        StatusCode::INTERNAL_SERVER_ERROR.as_u16(),
        "{answer:?}"
    );
}

/// A message that was given up, and its id.
pub(crate) async fn dead_message(place: &Place, key: &str) -> String {
    let answer = ask(place, "alice", "/messages", key, "").await;
    assert_eq!(answer.status, StatusCode::ACCEPTED.as_u16(), "{answer:?}");
    let now = place.database.backend().ago(0);
    let dead = format!(
        "UPDATE idempotency_outbox SET dead_at = {now}, attempts = 3, last_error = 'no such subject'
         WHERE dead_at IS NULL"
    );
    place.database.execute(&dead).await;
    let listed = place.idem(&["outbox", "list", "--json"]).done().json();
    let dead = listed["dead"].as_array().unwrap();
    dead.last().unwrap()["id"].as_str().unwrap().to_owned()
}
