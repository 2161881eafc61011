use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease", unresolved = "retry")]
async fn handler() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
