use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent(retain = "30s", timeout = "1m")]
async fn first(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(timeout = "10s", retain = "10s")]
async fn second(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(retain = "10s")]
async fn third(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(timeout = "25h")]
async fn fourth(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
    let _ = actix_web::web::post().to(third);
    let _ = actix_web::web::post().to(fourth);
}
