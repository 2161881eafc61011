use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease", in_flight = "accept", scope = "endpoint")]
async fn first() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(mode = "lease", scope = "global", in_flight = "accept")]
async fn second() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
}
