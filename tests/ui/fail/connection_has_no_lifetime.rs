use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
async fn handler(_conn: &'static mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
