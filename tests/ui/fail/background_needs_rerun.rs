use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease", resume = "background")]
async fn first() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(mode = "lease", unresolved = "hold", resume = "background")]
async fn second() -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
}
