use actix_web::{HttpResponse, route, routes};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
#[routes]
#[post("/a")]
#[get("/b")]
async fn with_routes(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[route("/c", method = "POST", method = "GET", method = "HEAD")]
async fn with_route(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[cfg_attr(all(), actix_web::get("/d"))]
async fn on_a_condition(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::App::new()
        .service(with_routes)
        .service(with_route)
        .service(on_a_condition);
}
