use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease", lease = "2h", retain = "1h")]
async fn first() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(mode = "lease", retain = "1m")]
async fn second() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(mode = "lease", lease = "25h")]
async fn third() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
    let _ = actix_web::web::post().to(third);
}
