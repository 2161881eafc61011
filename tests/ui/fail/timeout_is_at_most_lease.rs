use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease", lease = "1m", timeout = "61s")]
async fn first() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(mode = "lease", timeout = "3m")]
async fn second() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
}
