//! The proof that the endpoints of orders can be retried, in this process and on a SQLite file. Tests only.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::Cell;

use actix_web::test::{TestRequest, call_and_read_body_json, init_service};
use actix_web::{App, web};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use idem_runtime::testing::{Proof, Rule};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::courier::Courier;
use crate::db::{self, Database};
use crate::schema::orders;
use crate::signed::Secret;
use crate::{backends, bad_request};

const ALICE: (&str, &str) = ("authorization", "Bearer alice:1");
const BOB: (&str, &str) = ("authorization", "Bearer bob:1");

/// A file with the tables in a directory of its own.
struct File(TempDir);

impl File {
    fn new() -> Self {
        let file = Self(tempfile::tempdir().unwrap());
        Database::Sqlite(file.path()).migrate().unwrap();
        file
    }

    fn path(&self) -> String {
        let path = self.0.path().join("orders.db");
        path.to_str().unwrap().to_owned()
    }

    fn open(&self) -> SqliteConnection {
        let mut connection = SqliteConnection::establish(&self.path()).unwrap();
        connection
            .batch_execute("PRAGMA busy_timeout = 5000")
            .unwrap();
        connection
    }

    fn orders(&self) -> i64 {
        orders::table.count().get_result(&mut self.open()).unwrap()
    }

    fn cancelled(&self) -> i64 {
        let cancelled = orders::table.filter(orders::cancelled.eq(true));
        cancelled.count().get_result(&mut self.open()).unwrap()
    }

    /// The program's own routes.
    async fn routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static + use<> {
        let pool = db::sqlite_pool(&self.path()).await.unwrap();
        backends::sqlite::routes(pool, Courier::from_env(), Secret::from_env()).unwrap()
    }
}

fn order() -> TestRequest {
    let items = json!({"items": [{"sku": "tea", "quantity": 1}]});
    TestRequest::post()
        .uri("/orders")
        .insert_header(ALICE)
        .set_json(items)
}

#[actix_web::test]
async fn an_order_is_made_once() {
    let file = File::new();
    let json = web::JsonConfig::default().error_handler(|error, _| bad_request(&error));
    let app = App::new().app_data(json).configure(file.routes().await);
    let app = init_service(app).await;
    let two = json!({"items": [{"sku": "tea", "quantity": 2}]});
    Proof::of(order)
        .other_body(move |request| request.set_json(&two))
        .other_account(|request| request.insert_header(BOB))
        .refused_body(|request| request.set_payload("{\"items\": 1}"))
        .effects(async || file.orders())
        .run(&app)
        .await;
}

#[actix_web::test]
async fn an_order_is_cancelled_once() {
    let file = File::new();
    let app = init_service(App::new().configure(file.routes().await)).await;
    let made = Cell::new(0);
    Proof::prepared(async || {
        made.set(made.get() + 1);
        let key = ("idempotency-key", format!("\"order-{}\"", made.get()));
        let request = order().insert_header(key).to_request();
        let order: Value = call_and_read_body_json(&app, request).await;
        let path = format!("/orders/{}/cancel", order["id"]);
        move || TestRequest::post().uri(&path).insert_header(ALICE)
    })
    .other_body(|request| request.set_payload("other"))
    .skip(Rule::OtherAccount, "nobody else may cancel it")
    .effects(async || file.cancelled())
    .run(&app)
    .await;
}
