use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent(in_flight = "wait 6s", timeout = "5s")]
async fn first(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(in_flight = "wait 31s")]
async fn second(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
}
