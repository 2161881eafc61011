use actix_web::HttpResponse;
use idem_runtime::idempotent;

struct Unknown;

#[idempotent(mode = "lease")]
async fn handler(_body: Unknown) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
