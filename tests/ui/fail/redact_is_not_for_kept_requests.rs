use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(
    mode = "lease",
    unresolved = "rerun",
    resume = "background",
    redact = ["/card/number"]
)]
async fn handler() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
