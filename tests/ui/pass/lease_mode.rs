// A handler that calls the outside world has extractors only, from none to more than one tuple holds.

use actix_web::http::Method;
use actix_web::{App, HttpRequest, HttpResponse, Responder, post, put, web};
use idem_runtime::idempotent;
use serde::Deserialize;

#[derive(Deserialize)]
struct Filter {
    limit: u32,
}

#[idempotent(mode = "lease")]
async fn without_parameters() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(mode = "lease", lease = "30s")]
async fn one(body: web::Json<serde_json::Value>) -> impl Responder {
    body
}

#[post("/above/{one}/{other}", name = "above")]
#[idempotent(mode = "lease", unresolved = "rerun")]
async fn above(
    web::Query(Filter { limit }): web::Query<Filter>,
    mut ids: web::Path<(u32, u32)>,
    _: HttpRequest,
    web::Json(body): web::Json<serde_json::Value>,
) -> Result<HttpResponse, actix_web::Error> {
    ids.0 += limit;
    Ok(HttpResponse::Ok().json((ids.into_inner(), body)))
}

#[idempotent(mode = "lease", in_flight = "accept")]
#[put("/below")]
async fn below(method: Method, body: String) -> String {
    format!("{method} {body}")
}

#[idempotent(mode = "lease")]
async fn thirteen(
    a: HttpRequest,
    b: HttpRequest,
    c: HttpRequest,
    d: HttpRequest,
    e: HttpRequest,
    f: HttpRequest,
    g: HttpRequest,
    h: HttpRequest,
    i: HttpRequest,
    j: HttpRequest,
    k: HttpRequest,
    l: HttpRequest,
    body: String,
) -> String {
    let requests = [a, b, c, d, e, f, g, h, i, j, k, l];
    format!("{} {body}", requests.len())
}

fn main() {
    let _ = App::new()
        .route("/a", web::post().to(without_parameters))
        .route("/b", web::post().to(one))
        .route("/c", web::post().to(thirteen))
        .service(above)
        .service(below);
    assert_eq!(idem_runtime::policies().len(), 5);
}
