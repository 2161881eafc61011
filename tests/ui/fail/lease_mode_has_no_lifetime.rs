use std::borrow::Cow;

use actix_web::HttpResponse;
use idem_runtime::idempotent;

#[idempotent(mode = "lease")]
async fn handler<'a>(_body: Cow<'a, str>) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(handler);
}
