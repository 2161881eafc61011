//! The contract of protected endpoints in an OpenAPI document of `utoipa` (feature `openapi`).
//!
//! [`Contract`] writes into the operation of each protected handler what a client has to know: the key's header, the
//! answers that are ours, the header of a replay, and how long a response is honoured for whom.
//!
//! ```
//! # #[cfg(feature = "postgres")]
//! # mod example {
//! use actix_web::{HttpResponse, post};
//! use diesel_async::AsyncPgConnection;
//! use idem_runtime::idempotent;
//! use idem_runtime::openapi::Contract;
//! use utoipa::{Modify, OpenApi};
//!
//! /// Makes an order.
//! #[utoipa::path(post, path = "/orders", responses((status = 201, description = "The order.")))]
//! #[post("/orders")]
//! #[idempotent(retain = "72h")]
//! async fn create_order(order: String, conn: &mut AsyncPgConnection) -> HttpResponse {
//! #   let _ = (order, conn);
//!     HttpResponse::Created().finish()
//! }
//!
//! #[derive(OpenApi)]
//! #[openapi(paths(create_order))]
//! struct Api;
//!
//! fn document(idempotency: &idem_runtime::Idempotency<AsyncPgConnection>) -> utoipa::openapi::OpenApi {
//!     let mut document = Api::openapi();
//!     Contract::of(idempotency).modify(&mut document);
//!     document
//! }
//!
//! // In a test:
//! fn every_protected_endpoint_is_in_the_document() {
//!     assert_eq!(idem_runtime::openapi::unmatched(&Api::openapi()), []);
//! }
//! # }
//! ```
//!
//! # Which operation is a handler's
//!
//! The one that `#[utoipa::path]` *on the same function* describes: it has the operation id, the method, and the route, alone
//! or behind what it is nested under. Nothing is taken for it by its name: a function of the same name in another module
//! has another description. Where more than one operation would do, or one would do for two handlers that declare
//! something else, none of them is touched, and [`unmatched`] says so. An operation id of its own (`operation_id = ".."`),
//! which OpenAPI asks for anyway, tells them apart.
//!
//! A handler inside of a function's body counts as one without a description. Not seen is that of two functions of one name
//! only the *other* one is in the document, where its route is the same or ends with it; and of a handler with several
//! routes (`#[routes]`), those that `utoipa` does not describe either.

mod answers;
mod operation;
mod path;
mod place;
mod words;

use std::any::TypeId;
use std::borrow::Cow;

use actix_web::http::header::HeaderName;
use utoipa::Modify;
use utoipa::openapi::OpenApi;

pub use path::{Undescribed, described};
pub use place::{Reason, Unmatched};

use crate::builder::{KEY_HEADER, REPLAYED_HEADER};
use crate::idempotency::Idempotency;
use crate::openapi::operation::Writer;
use crate::policy::{IdempotencyPolicy, policies};
use crate::problem::DEFAULT_BASE;
use crate::store::Backend;

/// What protected endpoints promise, for a document of `utoipa`.
///
/// It adds and takes nothing away: parameters, responses and headers that are there stay as they are, and where a response
/// has a status that is one of ours too, ours is added to its description. An operation that has `x-idempotency` already is
/// left alone.
#[derive(Debug, Clone)]
pub struct Contract {
    pub(crate) key_header: Cow<'static, str>,
    pub(crate) replayed_header: Cow<'static, str>,
    pub(crate) problem_base: Cow<'static, str>,
    pub(crate) strict_keys: bool,
    /// Whose handlers; `None` is everybody's.
    connection: Option<TypeId>,
}

impl Contract {
    /// That of all protected handlers of the program, with the settings that a builder begins with.
    ///
    /// # Examples
    ///
    /// ```
    /// use idem_runtime::openapi::Contract;
    ///
    /// const CONTRACT: Contract = Contract::new();
    ///
    /// #[derive(utoipa::OpenApi)]
    /// #[openapi(modifiers(&CONTRACT))]
    /// struct Api;
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self {
            key_header: Cow::Borrowed(KEY_HEADER),
            replayed_header: Cow::Borrowed(REPLAYED_HEADER),
            problem_base: Cow::Borrowed(DEFAULT_BASE),
            strict_keys: false,
            connection: None,
        }
    }

    /// That of the handlers which this `Idempotency` protects, those in lease mode included, with its settings.
    #[must_use]
    pub fn of<C: Backend>(idempotency: &Idempotency<C>) -> Self {
        let settings = idempotency.settings();
        Self {
            key_header: as_written(&settings.key_header).into(),
            replayed_header: as_written(&settings.replayed_header).into(),
            problem_base: settings.problem_base.to_string().into(),
            strict_keys: settings.strict_keys,
            connection: Some(TypeId::of::<C>()),
        }
    }

    /// The handlers that have no operation of their own in this document.
    #[must_use]
    pub fn unmatched(&self, document: &OpenApi) -> Vec<Unmatched> {
        let matched = place::find(&self.policies(), document);
        let unmatched = matched.into_iter().filter_map(|(policy, places)| {
            let reason = places.err()?;
            Some(Unmatched::new(policy, reason))
        });
        unmatched.collect()
    }

    fn policies(&self) -> Vec<&'static IdempotencyPolicy> {
        let mut policies = policies();
        policies.retain(|policy| match (policy.connection, self.connection) {
            (Some(theirs), Some(ours)) => theirs() == ours,
            _ => true,
        });
        policies
    }
}

impl Default for Contract {
    fn default() -> Self {
        Self::new()
    }
}

impl Modify for Contract {
    fn modify(&self, document: &mut OpenApi) {
        let matched = place::find(&self.policies(), document);
        let components = document.components.get_or_insert_default();
        for (policy, places) in matched {
            if let Err(reason @ Reason::Ambiguous { .. }) = places {
                let unmatched = Unmatched::new(policy, reason);
                tracing::error!("left out of the OpenAPI document: {unmatched}");
                continue;
            }
            for place in places.into_iter().flatten() {
                let Some(item) = document.paths.paths.get_mut(&place.path) else {
                    continue;
                };
                let shared = item.parameters.clone().unwrap_or_default();
                if let Some(operation) = place.method.of_mut(item) {
                    Writer::new(self, policy, components).write(operation, &shared);
                }
            }
        }
    }
}

/// The handlers of this program that have no operation of their own in this document, for a test that says there are none.
#[must_use]
pub fn unmatched(document: &OpenApi) -> Vec<Unmatched> {
    Contract::new().unmatched(document)
}

/// A header's name is kept in small letters; people write `Idempotency-Key`.
fn as_written(name: &HeaderName) -> String {
    let words = name.as_str().split('-').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join("-")
}
