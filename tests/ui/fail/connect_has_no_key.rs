use actix_web::{HttpResponse, connect};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
#[connect("/tunnel")]
async fn tunnel(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::App::new().service(tunnel);
}
