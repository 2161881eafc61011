use actix_web::{HttpResponse, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

struct Order;

#[idempotent]
async fn handler(_order: Order, _conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = web::post().to(handler);
}
