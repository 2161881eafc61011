use actix_web::{HttpResponse, post};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent(retain = "24h")]
#[idempotent(store = "all")]
async fn one_after_the_other(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[post("/")]
#[idem_runtime::idempotent]
async fn around_the_route(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::App::new()
        .route("/", actix_web::web::post().to(one_after_the_other))
        .service(around_the_route);
}
