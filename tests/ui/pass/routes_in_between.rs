use actix_web::{App, HttpResponse, routes};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[routes]
#[post("/a")]
#[idempotent]
#[put("/b")]
async fn handler(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = App::new().service(handler);
    assert_eq!(idem_runtime::policies().len(), 1);
}
