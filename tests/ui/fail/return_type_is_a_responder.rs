use actix_web::web;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

struct Order;

#[idempotent]
async fn handler(_body: web::Bytes, _conn: &mut AsyncPgConnection) -> Order {
    Order
}

fn main() {
    let _ = web::post().to(handler);
}
