//! Handlers and their document.

use actix_web::{HttpResponse, get, patch, post, put, route};
use diesel::SqliteConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use idem_runtime::{Steps, idempotent};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::{Modify, OpenApi, ToResponse, ToSchema};

/// Makes an order.
///
/// It may be out of stock.
#[utoipa::path(responses(
    (status = 201, description = "The order.", body = String),
    (status = 409, description = "Out of stock.", body = String),
    (status = 503, description = "Closed.", headers(("retry-after" = String, description = "Monday."))),
))]
#[post("/orders")]
#[idempotent(retain = "72h", body_limit = "64KiB")]
pub(crate) async fn create_order(body: String, conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = (body, conn);
    HttpResponse::Created().finish()
}

/// The attribute stands above the others.
#[idempotent(
    scope = "endpoint",
    key = "optional",
    store = "all",
    in_flight = "wait 2s",
    retain = "1h 30m",
    expired_keys = "refuse"
)]
#[utoipa::path(responses((status = "5XX", description = "Broken.")))]
#[put("/hooks/{id}")]
pub(crate) async fn take_hook(conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = conn;
    HttpResponse::NoContent().finish()
}

/// One that calls somebody.
#[utoipa::path(operation_id = "ship", responses(
    (status = 202, description = "On its way."),
    (status = "4XX", description = "Refused.", body = String),
    (status = "default", response = Failed),
))]
#[post("/orders/{id:[0-9]+}/shipments")]
#[idempotent(
    mode = "lease",
    in_flight = "accept",
    unresolved = "rerun",
    scope = "tenant",
    store = "success"
)]
pub(crate) async fn ship_order(steps: Steps) -> HttpResponse {
    let _ = steps;
    HttpResponse::Accepted().finish()
}

/// Under two methods.
#[utoipa::path(responses((status = 200, response = Failed)))]
#[route("/things/{id}", method = "PUT", method = "PATCH")]
#[idempotent(mode = "lease", scope = "global")]
pub(crate) async fn change_thing(steps: Steps) -> HttpResponse {
    let _ = steps;
    HttpResponse::Ok().finish()
}

/// Without a route macro, and with the key's header written by hand.
#[utoipa::path(
    patch,
    path = "/notes/{id}",
    params(("idempotency-key" = String, Header, description = "Mine.")),
    responses((status = 200, description = "The note."))
)]
#[idempotent]
pub(crate) async fn change_note(conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = conn;
    HttpResponse::Ok().finish()
}

/// Its parameter is that of all operations at the path.
#[utoipa::path(responses((status = 200, description = "The note.")))]
#[patch("/pages/{id}")]
#[idempotent]
pub(crate) async fn change_page(conn: &mut AsyncPgConnection) -> HttpResponse {
    let _ = conn;
    HttpResponse::Ok().finish()
}

/// Over another kind of connection.
#[utoipa::path(responses((status = 201, description = "It is kept.")))]
#[post("/local")]
#[idempotent]
pub(crate) async fn keep_local(conn: &mut SyncConnectionWrapper<SqliteConnection>) -> HttpResponse {
    let _ = conn;
    HttpResponse::Created().finish()
}

#[utoipa::path(responses((status = 200, description = "The orders.")))]
#[get("/orders")]
pub(crate) async fn list_orders() -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// A response that several operations have.
#[derive(ToSchema, ToResponse)]
#[response(description = "It failed.")]
pub(crate) struct Failed {
    #[allow(dead_code)]
    message: String,
}

#[derive(OpenApi)]
#[openapi(
    paths(create_order, take_hook, ship_order, change_thing, change_note, change_page, keep_local, list_orders),
    components(responses(Failed)),
    modifiers(&Shared)
)]
pub(crate) struct Api;

/// What stands elsewhere in a document, and is referred to.
struct Shared;

impl Modify for Shared {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let key: Parameter = ParameterBuilder::new()
            .name("IDEMPOTENCY-KEY")
            .parameter_in(ParameterIn::Header)
            .build();
        components.parameters.insert("Key".to_owned(), key.into());
        let page = document.paths.paths.get_mut("/pages/{id}").unwrap();
        let reference = utoipa::openapi::Ref::new("#/components/parameters/Key");
        page.parameters = Some(vec![RefOr::Ref(reference)]);
    }
}
