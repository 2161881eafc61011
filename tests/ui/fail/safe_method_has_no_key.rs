use actix_web::{HttpResponse, get, head, options, trace};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
#[get("/get")]
async fn with_get(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[head("/head")]
async fn with_head(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[options("/options")]
async fn with_options(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[trace("/trace")]
async fn with_trace(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[actix_web::query("/query")]
async fn with_query(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[idempotent]
#[::actix_web::get("/path")]
async fn with_path(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

fn main() {
    let _ = actix_web::App::new()
        .service(with_get)
        .service(with_head)
        .service(with_options)
        .service(with_trace)
        .service(with_query)
        .service(with_path);
}
