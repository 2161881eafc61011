//! An expansion gives no lint anything to complain about.
#![forbid(unsafe_code)]
#![deny(
    warnings,
    missing_docs,
    unused,
    nonstandard_style,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    future_incompatible,
    unreachable_pub,
    unused_qualifications,
    unused_results,
    unused_lifetimes,
    unused_import_braces,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    explicit_outlives_requirements,
    elided_lifetimes_in_paths,
    let_underscore_drop,
    missing_debug_implementations,
    redundant_imports,
    redundant_lifetimes,
    unit_bindings,
    variant_size_differences,
    meta_variable_misuse,
    unnameable_types,
    absolute_paths_not_starting_with_crate,
    non_ascii_idents,
    private_interfaces,
    private_bounds
)]

use actix_web::{App, HttpResponse, Responder, web};
use diesel_async::AsyncPgConnection;
use idem_runtime::idempotent;

/// All options.
#[idempotent(
    scope = "tenant",
    in_flight = "wait 1s",
    isolation = "read committed",
    retries = 1
)]
async fn all_options(
    web::Json((one, other)): web::Json<(u32, u32)>,
    mut path: web::Path<(u32, u32)>,
    _conn: &mut AsyncPgConnection,
) -> impl Responder {
    path.0 += one + other;
    web::Json(path.into_inner())
}

/// A route macro below.
#[idempotent]
#[actix_web::post("/below")]
async fn below(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// A route macro above.
#[actix_web::post("/above")]
#[idempotent]
async fn above(_conn: &mut AsyncPgConnection) -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// Lease mode.
#[idempotent(
    mode = "lease",
    lease = "1m",
    unresolved = "rerun",
    resume = "background",
    in_flight = "accept"
)]
async fn leased(
    web::Json((one, other)): web::Json<(u32, u32)>,
    mut path: web::Path<(u32, u32)>,
) -> impl Responder {
    path.0 += one + other;
    web::Json(path.into_inner())
}

/// Lease mode without parameters.
#[actix_web::post("/leased")]
#[idempotent(mode = "lease")]
async fn leased_above() -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// Public handlers.
pub mod handlers {
    use super::*;

    /// A public handler without a route macro.
    #[idempotent]
    pub async fn public(body: web::Bytes, _conn: &mut AsyncPgConnection) -> HttpResponse {
        HttpResponse::Ok().body(body)
    }
}

fn main() {
    drop(
        App::new()
            .route("/a/{one}/{other}", web::post().to(all_options))
            .route("/b", web::post().to(handlers::public))
            .route("/c/{one}/{other}", web::post().to(leased))
            .service(leased_above)
            .service(below)
            .service(above),
    );
}
