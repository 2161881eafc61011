use actix_web::HttpResponse;
use diesel::PgConnection;
use idem_runtime::idempotent;

#[idempotent]
async fn handler(_conn: &mut PgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
