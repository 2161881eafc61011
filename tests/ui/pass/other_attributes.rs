// Which of the two functions an attribute goes to. `expect` complains where it finds nothing to expect.
#![deny(warnings, dead_code, unused)]

use actix_web::{App, HttpResponse, post, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

/// Documented.
#[idempotent]
#[expect(unused_variables)]
#[inline]
#[cfg_attr(all(), must_use, post("/a"))]
pub async fn to_both(conn: &mut AsyncPgConnection) -> HttpResponse {
    #![expect(unused_mut)]
    let mut status = 200;
    HttpResponse::Ok().body(status.to_string())
}

#[cfg(all())]
#[idempotent]
async fn chosen(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[cfg(any())]
async fn chosen(_not_this_one: Missing, _conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[allow(dead_code, non_snake_case)]
async fn neverUsed(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = App::new()
        .service(to_both)
        .route("/b", web::post().to(chosen));
}
