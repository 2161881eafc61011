use actix_web::{HttpResponse, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
async fn handler(_body: web::Bytes, _conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = __incoming;
    let _ = __argument_0;
    let _ = __connection;
    let _ = __request;
    let _ = __POLICY;
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = web::post().to(handler);
}
