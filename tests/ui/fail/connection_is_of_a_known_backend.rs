use actix_web::{HttpResponse, web};
use idem_runtime::idempotent;

struct Connection;

#[idempotent]
async fn handler(_conn: &mut Connection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = web::post().to(handler);
}
