// Patterns, attributes, the connection anywhere, and more extractors than one tuple holds.

use actix_web::http::Method;
use actix_web::{App, HttpRequest, HttpResponse, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;
use serde::Deserialize;

#[derive(Deserialize)]
struct Filter {
    limit: u32,
}

#[idempotent]
async fn connection_alone(_: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
async fn connection_in_the_middle(
    web::Query(Filter { limit }): web::Query<Filter>,
    mut ids: web::Path<(u32, u32)>,
    #[allow(unused_variables)] conn: &'_ mut AsyncPgConnection,
    _: HttpRequest,
    web::Json(body): web::Json<serde_json::Value>,
) -> HttpResponse {
    ids.0 += limit;
    HttpResponse::Ok().json((ids.into_inner(), body))
}

#[idempotent]
async fn thirteen(
    a: HttpRequest,
    b: Method,
    c: Option<web::Query<Filter>>,
    d: Result<web::Path<(u32,)>, actix_web::Error>,
    e: HttpRequest,
    f: HttpRequest,
    g: HttpRequest,
    h: HttpRequest,
    i: HttpRequest,
    j: HttpRequest,
    k: HttpRequest,
    l: HttpRequest,
    body: String,
    _conn: &mut AsyncPgConnection,
) -> String {
    let requests = [a, e, f, g, h, i, j, k, l];
    format!(
        "{} {b} {} {} {body}",
        requests.len(),
        c.is_some(),
        d.is_ok()
    )
}

fn main() {
    let _ = App::new()
        .route("/a", web::post().to(connection_alone))
        .route(
            "/b/{account}/{id}",
            web::post().to(connection_in_the_middle),
        )
        .route("/c", web::post().to(thirteen));
}
