// A user may call things what we call them.

use actix_web::{App, HttpResponse, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

const __POLICY: &str = "policy";

#[allow(dead_code)]
fn __incoming() {}

fn run() -> &'static str {
    "run"
}

mod core {}

#[idempotent]
async fn handler(
    __incoming: String,
    __connection: web::Bytes,
    __request: actix_web::HttpRequest,
    __argument_0: &mut AsyncPgConnection,
) -> HttpResponse {
    let _: &mut AsyncPgConnection = __argument_0;
    HttpResponse::Ok().body(format!(
        "{__POLICY} {__incoming} {__connection:?} {} {}",
        __request.path(),
        run()
    ))
}

#[idempotent]
async fn r#move(__policy: String, conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = conn;
    HttpResponse::Ok().body(__policy)
}

#[idempotent(mode = "lease")]
async fn leased(__argument_0: String, __connection: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().body(format!(
        "{__POLICY} {__argument_0} {__connection:?} {}",
        run()
    ))
}

fn main() {
    let _ = App::new()
        .route("/a", web::post().to(handler))
        .route("/b", web::post().to(r#move))
        .route("/c", web::post().to(leased));
    assert!(
        idem_runtime::policies()
            .iter()
            .any(|policy| policy.handler.ends_with("::move"))
    );
}
