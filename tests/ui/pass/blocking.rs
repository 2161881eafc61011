//! Handlers that are not `async`: every backend, any return type, many extractors, and the attributes of others.

#![deny(warnings)]

use std::fmt;

use actix_web::{App, Either, HttpResponse, Responder, ResponseError, post, put, web};
use diesel::{PgConnection, SqliteConnection};
use idem_runtime::{IdempotencyKey, idempotent};

#[derive(Debug)]
struct OrderError(diesel::result::Error);

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ResponseError for OrderError {}

impl From<diesel::result::Error> for OrderError {
    fn from(error: diesel::result::Error) -> Self {
        Self(error)
    }
}

#[post("/orders")]
#[idempotent(scope = "account", retain = "24h", in_flight = "wait 2s", isolation = "serializable", retries = 3)]
fn create_order(item: web::Json<String>, conn: &mut PgConnection) -> Result<HttpResponse, OrderError> {
    diesel::RunQueryDsl::execute(diesel::sql_query("SELECT 1"), conn)?;
    Ok(HttpResponse::Created().json(&*item))
}

#[idempotent(key = "optional", fingerprint = "raw")]
#[put("/orders/{id}")]
#[tracing::instrument(skip(conn))]
fn change_order(conn: &mut SqliteConnection, id: web::Path<i64>, key: Option<IdempotencyKey>) -> impl Responder {
    let _ = (conn, key);
    id.to_string()
}

#[idempotent]
fn either(_conn: &mut PgConnection) -> Either<String, web::Json<u8>> {
    Either::Right(web::Json(1))
}

#[idempotent]
#[expect(clippy::too_many_arguments)]
fn many(
    one: web::Data<u8>,
    two: web::Data<u8>,
    three: web::Data<u8>,
    four: web::Data<u8>,
    five: web::Data<u8>,
    six: web::Data<u8>,
    seven: web::Data<u8>,
    eight: web::Data<u8>,
    nine: web::Data<u8>,
    ten: web::Data<u8>,
    eleven: web::Data<u8>,
    twelve: web::Data<u8>,
    thirteen: web::Bytes,
    _conn: &mut PgConnection,
) -> actix_web::Result<&'static str> {
    let _ = (one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen);
    Ok("done")
}

fn main() {
    let _ = App::new()
        .service(create_order)
        .service(change_order)
        .service(web::resource("/either").route(web::post().to(either)))
        .service(web::resource("/many").route(web::post().to(many)));
}
