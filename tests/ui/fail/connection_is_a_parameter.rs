use actix_web::{HttpResponse, post, web};
use idem_runtime::idempotent;

#[idempotent]
async fn without_parameters() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[post("/above")]
#[idempotent]
async fn route_above(body: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().body(body)
}

#[idempotent]
#[post("/below")]
async fn route_below(body: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().body(body)
}

fn main() {
    let _ = actix_web::App::new()
        .route("/", web::post().to(without_parameters))
        .service(route_above)
        .service(route_below);
}
