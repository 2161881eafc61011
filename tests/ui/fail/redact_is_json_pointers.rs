use actix_web::HttpResponse;
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent(redact = "/card/number")]
async fn first(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(redact = ["/card/number", "pin"])]
async fn second(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent(redact = ["/a~b"])]
async fn third(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(first);
    let _ = actix_web::web::post().to(second);
    let _ = actix_web::web::post().to(third);
}
