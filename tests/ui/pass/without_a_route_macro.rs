use actix_web::{App, HttpResponse, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

#[idempotent]
pub async fn handler(body: web::Bytes, _conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().body(body)
}

mod inner {
    use super::*;

    #[idempotent]
    pub(crate) async fn handler(_conn: &mut AsyncPgConnection) -> HttpResponse {
        HttpResponse::Ok().finish()
    }
}

struct Orders;

impl Orders {
    #[idempotent]
    async fn create(_conn: &mut AsyncPgConnection) -> HttpResponse {
        HttpResponse::Ok().finish()
    }
}

fn main() {
    let _ = App::new()
        .service(web::resource("/orders").route(web::post().to(handler)))
        .route("/inner", web::put().to(inner::handler))
        .route("/method", web::put().to(Orders::create));
    let handlers: Vec<_> = idem_runtime::policies()
        .iter()
        .map(|policy| policy.handler)
        .collect();
    assert!(
        handlers
            .iter()
            .any(|name| name.ends_with("::inner::handler"))
    );
}
