use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, Responder, ResponseError, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[derive(Debug)]
struct OrderError;

impl std::fmt::Display for OrderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no order")
    }
}

impl ResponseError for OrderError {}

#[idempotent]
async fn response(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
async fn responder(_conn: &mut AsyncPgConnection) -> impl Responder {
    "done"
}

#[idempotent]
async fn responder_of_the_body(
    body: web::Bytes,
    conn: &mut AsyncPgConnection,
) -> impl Responder + use<> {
    let _ = conn;
    body
}

#[idempotent]
async fn result(_conn: &mut AsyncPgConnection) -> Result<HttpResponse, OrderError> {
    Err(OrderError)
}

#[idempotent]
async fn result_of_a_responder(
    _conn: &mut AsyncPgConnection,
) -> Result<impl Responder, actix_web::Error> {
    Ok(("done", StatusCode::CREATED))
}

#[idempotent]
async fn result_of_nothing(_conn: &mut AsyncPgConnection) -> actix_web::Result<()> {
    Ok(())
}

#[idempotent]
async fn json(_conn: &mut AsyncPgConnection) -> web::Json<Vec<u8>> {
    web::Json(vec![1])
}

#[idempotent]
async fn option(_conn: &mut AsyncPgConnection) -> Option<String> {
    None
}

#[idempotent]
async fn customized(_conn: &mut AsyncPgConnection) -> impl Responder {
    "done".customize().with_status(StatusCode::CREATED)
}

fn main() {
    let _ = App::new()
        .route("/a", web::post().to(response))
        .route("/b", web::post().to(responder))
        .route("/c", web::post().to(responder_of_the_body))
        .route("/d", web::post().to(result))
        .route("/e", web::post().to(result_of_a_responder))
        .route("/f", web::post().to(result_of_nothing))
        .route("/g", web::post().to(json))
        .route("/h", web::post().to(option))
        .route("/i", web::post().to(customized));
}
