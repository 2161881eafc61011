//! An endpoint that takes what the shop of `idem_tests::broken` takes, and is protected.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, get, post, web};
use diesel::prelude::*;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, bb8::Pool};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncMysqlConnection, AsyncPgConnection};
use idem_runtime::{Idempotency, idempotent, pool};
use idem_tests::Backend;
use idem_tests::broken::Running;
use serde_json::{Value, json};
use uuid::Uuid;

use super::place::Place;

diesel::table! {
    shop_orders (id) {
        id -> Text,
    }
}

macro_rules! shop {
    ($module:ident, $connection:ty) => {
        mod $module {
            use diesel_async::RunQueryDsl;

            use super::*;

            #[post("/orders")]
            #[idempotent(retain = "24h")]
            async fn order(order: web::Json<Value>, conn: &mut $connection) -> HttpResponse {
                tokio::time::sleep(Duration::from_millis(
                    order["sleep_ms"].as_u64().unwrap_or_default(),
                ))
                .await;
                let id = Uuid::new_v4().to_string();
                let row = shop_orders::id.eq(&id);
                diesel::insert_into(shop_orders::table)
                    .values(row)
                    .execute(conn)
                    .await
                    .unwrap();
                match order["fail"] == true {
                    true => HttpResponse::ServiceUnavailable().finish(),
                    false => HttpResponse::Created()
                        .append_header(("Link", "</a>"))
                        .append_header(("Link", "</b>"))
                        .json(json!({ "order": id })),
                }
            }

            #[get("/orders")]
            async fn orders(pool: web::Data<Pool<$connection>>) -> HttpResponse {
                let count = shop_orders::table.count();
                let count: i64 = count
                    .get_result(&mut pool.get().await.unwrap())
                    .await
                    .unwrap();
                HttpResponse::Ok().json(json!({ "orders": { "all": count } }))
            }

            pub(super) async fn start(url: &str, config: ManagerConfig<$connection>) -> Running {
                let manager = AsyncDieselConnectionManager::new_with_config(url, config);
                let pool = Pool::builder().max_size(8).build(manager).await.unwrap();
                let protection = Idempotency::builder(pool.clone())
                    // Of a handler that stands elsewhere in this program.
                    .status_path("/operations")
                    .account_with(|request: &HttpRequest| {
                        let account = request.headers().get("authorization")?;
                        account.to_str().ok().map(str::to_owned)
                    })
                    .build()
                    .unwrap();
                Running::start(move |config| {
                    config
                        .app_data(web::Data::new(protection.clone()))
                        .app_data(web::Data::new(pool.clone()))
                        .service(order)
                        .service(orders);
                })
            }
        }
    };
}

shop! { postgres, AsyncPgConnection }
shop! { mysql, AsyncMysqlConnection }
shop! { sqlite, SyncConnectionWrapper<SqliteConnection> }

/// It listens, for as long as the test's runtime goes on.
pub(crate) async fn start(place: &Place) -> Running {
    let table = "CREATE TABLE shop_orders (id varchar(36) PRIMARY KEY)";
    place.database.execute(table).await;
    let url = place.database.url();
    match place.database.backend() {
        Backend::Postgres => postgres::start(url, pool::postgres_config()).await,
        Backend::Mysql => mysql::start(url, pool::mysql_config()).await,
        Backend::Sqlite => {
            let file = url.strip_prefix("sqlite://").unwrap();
            sqlite::start(file, pool::sqlite_config()).await
        }
    }
}
