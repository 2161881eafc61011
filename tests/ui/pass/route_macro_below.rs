use actix_web::middleware::Compress;
use actix_web::{App, HttpResponse, delete, patch, post, put, route, routes};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
#[post("/a", name = "a", wrap = "Compress::default()")]
async fn with_post(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[put("/a")]
async fn with_put(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[patch("/a")]
async fn with_patch(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[delete("/a")]
async fn with_delete(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[actix_web::post("/b")]
async fn with_a_path(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[route("/c", method = "POST", method = "PUT", wrap = "Compress::default()")]
async fn with_route(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[routes]
#[post("/d", wrap = "Compress::default()")]
#[put("/e")]
async fn with_routes(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = App::new()
        .service(with_post)
        .service(with_put)
        .service(with_patch)
        .service(with_delete)
        .service(with_a_path)
        .service(with_route)
        .service(with_routes);
    let handlers: Vec<_> = idem_runtime::policies()
        .iter()
        .filter_map(|policy| policy.handler.rsplit("::").next())
        .collect();
    assert_eq!(
        handlers,
        [
            "with_a_path",
            "with_delete",
            "with_patch",
            "with_post",
            "with_put",
            "with_route",
            "with_routes"
        ]
    );
}
