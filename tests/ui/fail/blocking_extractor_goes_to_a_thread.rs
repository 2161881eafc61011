use actix_web::{HttpRequest, HttpResponse, web};
use diesel::PgConnection;
use idem_runtime::idempotent;

#[idempotent]
fn handler(
    _name: web::Path<String>,
    _request: HttpRequest,
    _conn: &mut PgConnection,
) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = web::post().to(handler);
}
