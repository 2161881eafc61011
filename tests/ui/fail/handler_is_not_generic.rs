use actix_web::{FromRequest, HttpResponse};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
async fn over_types<T: FromRequest>(_body: T, _conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
async fn over_constants<const N: usize>(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
async fn over_lifetimes<'a>(_conn: &'a mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
async fn over_a_trait(
    _body: Option<impl FromRequest>,
    _conn: &mut AsyncPgConnection,
) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::web::post().to(over_types);
    let _ = actix_web::web::post().to(over_constants);
    let _ = actix_web::web::post().to(over_lifetimes);
    let _ = actix_web::web::post().to(over_a_trait);
}
