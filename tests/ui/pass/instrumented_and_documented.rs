//! `#[tracing::instrument]` goes with the user's function, `#[utoipa::path]` with the route, wherever they stand.

use actix_web::{App, HttpResponse, post};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;
use utoipa::OpenApi;

#[utoipa::path(responses((status = 201)))]
#[post("/above")]
#[tracing::instrument(skip(conn))]
#[idempotent]
async fn above(order: String, conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = (order, conn);
    HttpResponse::Created().finish()
}

#[idempotent]
#[utoipa::path(responses((status = 201)))]
#[post("/below")]
#[tracing::instrument(skip(conn))]
async fn below(order: String, conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = (order, conn);
    HttpResponse::Created().finish()
}

#[derive(OpenApi)]
#[openapi(paths(above, below))]
struct Api;

fn main() {
    let _ = App::new().service(above).service(below);
    let paths: Vec<_> = Api::openapi().paths.paths.into_keys().collect();
    assert_eq!(paths, ["/above", "/below"]);
    assert_eq!(idem_runtime::policies().len(), 2);
}
