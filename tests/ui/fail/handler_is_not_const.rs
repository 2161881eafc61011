use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
const fn instead_of_async(_conn: &mut AsyncPgConnection) -> i32 {
    1
}

#[idempotent]
const async fn beside_async(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(instead_of_async);
    let _ = actix_web::web::post().to(beside_async);
}
