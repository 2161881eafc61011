use actix_web::{HttpResponse, post};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[post("/")]
#[idempotent(retain = "24")]
async fn handler(_conn: &mut AsyncPgConnection) -> HttpResponse {
    let status: u16 = "201";
    HttpResponse::Ok().body(status.to_string())
}

fn main() {
    let _ = actix_web::App::new().service(handler);
}
