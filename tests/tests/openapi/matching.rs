//! Which operation is a handler's, and that nobody is given another's.

// What a route macro makes is for `App::service`.
#![allow(dead_code)]

use idem_runtime::openapi::{Contract, Reason, Unmatched, unmatched};
use serde_json::Value;
use utoipa::{Modify, OpenApi};

use crate::{json, shop};

macro_rules! handler {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        pub(crate) async fn $name(conn: &mut diesel_async::AsyncPgConnection) -> actix_web::HttpResponse {
            let _ = conn;
            actix_web::HttpResponse::Ok().finish()
        }
    };
}

/// The same names, ids and routes in two versions, which retain for another time.
mod v1 {
    use actix_web::post;
    use idem_runtime::idempotent;
    handler!(
        #[utoipa::path]
        #[post("/carts")]
        #[idempotent(retain = "1h")]
        create_cart
    );
}

mod v2 {
    use actix_web::post;
    use idem_runtime::idempotent;
    handler!(
        #[utoipa::path]
        #[post("/carts")]
        #[idempotent(retain = "2h")]
        create_cart
    );
}

/// Stamped twice, as for two types of connection.
mod stamped {
    macro_rules! stamp {
        ($name:ident) => {
            pub(crate) mod $name {
                use actix_web::post;
                use idem_runtime::idempotent;
                handler!(
                    #[utoipa::path]
                    #[post("/stamps")]
                    #[idempotent]
                    stamp
                );
            }
        };
    }
    stamp!(one);
    stamp!(other);
}

mod open {
    use actix_web::{HttpResponse, post};

    /// Protected by nobody.
    #[utoipa::path]
    #[post("/drafts")]
    pub(crate) async fn save_draft() -> HttpResponse {
        HttpResponse::Ok().finish()
    }
}

/// Protected by nobody, with another name at a route that ends like that of `outer`.
mod elsewhere {
    use actix_web::{HttpResponse, post};

    #[utoipa::path]
    #[post("/farther/outer")]
    pub(crate) async fn rest() -> HttpResponse {
        HttpResponse::Ok().finish()
    }
}

/// Has the other module's description in sight, and none of its own.
mod thief {
    #[allow(unused_imports)]
    use super::open::*;
    use actix_web::post;
    use idem_runtime::idempotent;
    handler!(
        #[post("/drafts")]
        #[idempotent]
        save_draft
    );
}

/// Has a description of its own, with another route.
mod namesake {
    use actix_web::post;
    use idem_runtime::idempotent;
    handler!(
        #[utoipa::path]
        #[post("/final/drafts")]
        #[idempotent]
        save_draft
    );
}

/// The names of the enclosing module are not in sight of the inner one's.
mod outer {
    use actix_web::post;
    use idem_runtime::idempotent;
    handler!(
        #[utoipa::path]
        #[post("/outer")]
        #[idempotent]
        nest
    );

    pub(crate) mod inner {
        use actix_web::post;
        use idem_runtime::idempotent;
        handler!(
            #[post("/inner")]
            #[idempotent]
            nest
        );
    }
}

fn reason(document: &utoipa::openapi::OpenApi, handler: &str) -> Option<Reason> {
    let handler = format!("{}::{handler}", module_path!());
    let found = unmatched(document);
    let mut found = found.into_iter().filter(|one| one.handler == handler);
    let reason = found.next().map(|one| one.reason);
    assert_eq!(found.next(), None);
    reason
}

fn modified<Api: OpenApi>() -> Value {
    let mut document = Api::openapi();
    Contract::new().modify(&mut document);
    json(&document)
}

fn is_protected(document: &Value, path: &str) -> bool {
    let operation = &document["paths"][path]["post"];
    assert!(operation.is_object(), "no {path} in {document}");
    operation["x-idempotency"].is_object()
}

#[test]
fn each_handler_of_the_shop_has_its_operation() {
    let document = shop::Api::openapi();
    let theirs = unmatched(&document);
    let mut theirs = theirs.iter().filter(|one| one.handler.contains("::shop::"));
    assert_eq!(theirs.next(), None);
}

#[test]
fn one_that_is_not_in_the_document_is_reported() {
    #[derive(OpenApi)]
    #[openapi(paths(shop::list_orders))]
    struct Api;

    let found = unmatched(&Api::openapi());
    let order = found
        .iter()
        .find(|one| one.handler.ends_with("shop::create_order"));
    assert_eq!(
        order.map(Unmatched::to_string).as_deref(),
        Some(
            "openapi::shop::create_order is described as `create_order`, POST /orders, and the document has no such \
             operation: add it to `paths(..)`"
        )
    );
    assert_eq!(found.len(), idem_runtime::policies().len());
}

#[test]
fn one_without_a_description_is_reported() {
    #[derive(OpenApi)]
    #[openapi(paths(outer::nest))]
    struct Api;

    assert_eq!(reason(&Api::openapi(), "outer::nest"), None);
    let inner = reason(&Api::openapi(), "outer::inner::nest");
    assert_eq!(inner, Some(Reason::Undescribed));
}

#[test]
fn what_is_nested_is_found_below_its_prefix() {
    #[derive(OpenApi)]
    #[openapi(paths(v1::create_cart))]
    struct Carts;

    #[derive(OpenApi)]
    #[openapi(nest((path = "/v1", api = Carts)))]
    struct Api;

    // Two that declare something else would do.
    let Some(Reason::Ambiguous {
        operation_id,
        among,
    }) = reason(&Api::openapi(), "v1::create_cart")
    else {
        panic!("{:?}", reason(&Api::openapi(), "v1::create_cart"));
    };
    assert_eq!(operation_id, "create_cart");
    assert_eq!(among, [format!("{}::v2::create_cart", module_path!())]);
    assert!(!is_protected(&modified::<Api>(), "/v1/carts"));

    #[derive(OpenApi)]
    #[openapi(paths(outer::nest))]
    struct Nest;

    #[derive(OpenApi)]
    #[openapi(nest((path = "/api", api = Nest)))]
    struct Nested;

    assert_eq!(reason(&Nested::openapi(), "outer::nest"), None);
    assert!(is_protected(&modified::<Nested>(), "/api/outer"));
}

#[test]
fn where_two_operations_would_do_none_is_taken() {
    #[derive(OpenApi)]
    #[openapi(paths(outer::nest))]
    struct Nest;

    #[derive(OpenApi)]
    #[openapi(nest((path = "/v1", api = Nest), (path = "/v2", api = Nest)))]
    struct Api;

    let Some(Reason::Ambiguous { among, .. }) = reason(&Api::openapi(), "outer::nest") else {
        panic!("{:?}", reason(&Api::openapi(), "outer::nest"));
    };
    assert_eq!(among, ["POST /v1/outer", "POST /v2/outer"]);
    let document = modified::<Api>();
    assert!(!is_protected(&document, "/v1/outer"));
    assert!(!is_protected(&document, "/v2/outer"));
}

#[test]
fn handlers_that_declare_the_same_are_one() {
    #[derive(OpenApi)]
    #[openapi(paths(stamped::one::stamp))]
    struct Api;

    assert_eq!(reason(&Api::openapi(), "stamped::one::stamp"), None);
    assert_eq!(reason(&Api::openapi(), "stamped::other::stamp"), None);
    assert!(is_protected(&modified::<Api>(), "/stamps"));
}

#[test]
fn a_namesake_in_another_module_is_somebody_else() {
    #[derive(OpenApi)]
    #[openapi(paths(open::save_draft))]
    struct Api;

    assert!(!is_protected(&modified::<Api>(), "/drafts"));
    let thief = reason(&Api::openapi(), "thief::save_draft");
    assert_eq!(thief, Some(Reason::Undescribed));
    let namesake = reason(&Api::openapi(), "namesake::save_draft");
    assert!(
        matches!(namesake, Some(Reason::Missing { .. })),
        "{namesake:?}"
    );
}

#[test]
fn a_route_alone_is_nobodys() {
    #[derive(OpenApi)]
    #[openapi(paths(elsewhere::rest))]
    struct Api;

    assert!(!is_protected(&modified::<Api>(), "/farther/outer"));
    let nest = reason(&Api::openapi(), "outer::nest");
    assert!(matches!(nest, Some(Reason::Missing { .. })), "{nest:?}");
}
