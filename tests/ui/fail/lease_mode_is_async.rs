use actix_web::HttpResponse;
use idem_runtime::{Steps, idempotent};

#[idempotent(mode = "lease")]
fn handler(_steps: Steps) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
