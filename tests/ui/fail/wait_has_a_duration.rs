use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent(in_flight = "wait")]
async fn first(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(in_flight = "wait 2")]
async fn second(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(in_flight = "wait 0s")]
async fn third(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
    let _ = actix_web::web::post().to(third);
}
