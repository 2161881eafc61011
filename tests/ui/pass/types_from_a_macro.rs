// One handler, stamped once for each backend: the connection's type comes out of a macro.

use actix_web::{App, HttpResponse, web};
use diesel::SqliteConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

macro_rules! handlers {
    ($backend:ident, $connection:ty, $reference:ty, $order:ty, $retain:literal, $store:expr, $path:literal) => {
        mod $backend {
            use super::*;

            #[idem_runtime::idempotent(retain = $retain, store = $store)]
            #[actix_web::post($path)]
            pub(super) async fn by_type(order: $order, _conn: &mut $connection) -> HttpResponse {
                HttpResponse::Ok().body(order)
            }

            #[actix_web::put($path)]
            #[idem_runtime::idempotent(retain = $retain)]
            pub(super) async fn by_reference(order: $order, conn: $reference) -> HttpResponse {
                let _: &mut $connection = conn;
                HttpResponse::Ok().body(order)
            }
        }
    };
}

handlers!(
    postgres,
    AsyncPgConnection,
    &mut AsyncPgConnection,
    web::Bytes,
    "24h",
    "all",
    "/postgres"
);
handlers!(
    sqlite,
    SyncConnectionWrapper<SqliteConnection>,
    &mut SyncConnectionWrapper<SqliteConnection>,
    String,
    "48h",
    "final",
    "/sqlite"
);

fn main() {
    let _ = App::new()
        .service(postgres::by_type)
        .service(postgres::by_reference)
        .service(sqlite::by_type)
        .service(sqlite::by_reference);
    let handlers: Vec<_> = idem_runtime::policies()
        .iter()
        .map(|policy| policy.handler)
        .collect();
    assert_eq!(handlers.len(), 4, "{handlers:?}");
    assert!(
        handlers
            .iter()
            .any(|name| name.ends_with("::sqlite::by_type"))
    );
}
