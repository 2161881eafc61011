use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease", lease = "1s", in_flight = "wait 11s")]
async fn handler() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
