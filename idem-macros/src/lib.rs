//! The [`macro@idempotent`] attribute. Use it through the `idem-runtime` crate, which the generated code calls.
//!
//! An attribute passes through these, in this order: its text is parsed (`args`), judged together with the
//! function (`handler`), and the two become one item (`expand`); or the function comes back with everything
//! that is wrong with it (`fallback`).

mod args;
mod choices;
mod duration;
mod size;
mod value;

mod attributes;
mod handler;
mod signature;

mod expand;
mod fallback;

mod hint;
mod problems;

#[cfg(test)]
mod tests;

use proc_macro2::{Span, TokenStream};
use syn::{Item, ItemFn};

use crate::handler::Handler;
use crate::problems::Problems;

/// Makes a handler of actix-web idempotent: within the retention window, for a given scope and key and a matching
/// fingerprint, its effect occurs once, and its response is replayed byte for byte.
///
/// The claim of the key, what the handler does on its connection, and the stored response are one database
/// transaction: either all three exist or none does.
///
/// # Syntax
///
/// ```text
/// #[idempotent]
/// #[idempotent(option = value, …)]
/// async fn handler(extractor: T, …, conn: &mut Connection) -> impl Responder { … }
/// ```
///
/// - The one `&mut` parameter is the connection of the open transaction. It may stand anywhere among the
///   parameters; its type names the backend: `AsyncPgConnection`, or `SyncConnectionWrapper<SqliteConnection>`.
/// - Every other parameter is an extractor of actix-web. There may be any number, and they may be patterns.
/// - The return type is anything that actix-web accepts from a handler. An `Err`, and every status from 400 on,
///   rolls the handler's work back.
///
/// The attribute may stand above or below `#[post]`, `#[put]`, `#[patch]`, `#[delete]`, `#[route]` and `#[routes]`,
/// and needs none of them: `web::resource("/orders").route(web::post().to(create_order))` serves as well.
///
/// # Options
///
/// | option | values | default | what it says |
/// |---|---|---|---|
/// | `scope` | `"account"`, `"endpoint"`, `"global"`, or a scope that the application names | `"account"` | the namespace in which a key is unique |
/// | `retain` | a duration | `"24h"` | how long a recorded response is honoured, counted from its recording |
/// | `store` | `"final"`, `"success"`, `"all"` | `"final"` | which responses are recorded: 2xx, 3xx and 4xx except 401, 403, 408, 425 and 429; 2xx and 3xx; every one |
/// | `in_flight` | `"reject"`, `"wait <duration>"` | `"reject"` | what a duplicate gets while the first attempt is running: 409 at once; its response if it comes in time, otherwise 409 |
/// | `key` | `"required"`, `"optional"` | `"required"` | whether a request without a key is refused, or runs unprotected |
/// | `fingerprint` | `"json"`, `"raw"` | `"json"` | whether JSON bodies are compared in canonical form, or like all others byte for byte |
/// | `body_limit` | a size | `"2MiB"` | the largest request body |
/// | `response_limit` | a size | `"1MiB"` | the largest response body |
/// | `timeout` | a duration | `"30s"` | how long one run of the handler may take |
/// | `isolation` | `"read committed"`, `"repeatable read"`, `"serializable"` | the database's | the isolation level of the transaction |
/// | `retries` | a number from 0 to 10 | `0` | how often the handler is run again after a serialization failure or a deadlock |
///
/// A duration is numbers with units, such as `"24h"` or `"1h 30m"`; the units are `ms`, `s`, `m`, `h`, `d` and `w`.
/// A size is a number with a unit, such as `"64KiB"`.
///
/// # Notes
///
/// - Two functions are generated. The outer one is what actix-web calls; the inner one is yours, unchanged. Route
///   macros, `#[utoipa::path]`, `#[cfg]`, `#[allow]`, `#[deprecated]` and documentation go to the outer one, every
///   other attribute, such as `#[tracing::instrument(skip(conn))]`, to the inner one. A `#[cfg_attr]` is divided
///   in the same way.
/// - The outer function cannot be called with your parameters: test the handler through the application.
/// - With `retries` the handler may run several times for one request, so everything that it does outside of its
///   transaction may happen several times.
/// - A handler that is registered for a safe method where the attribute cannot see it, for example by
///   `web::get().to(handler)`, answers 500 and logs why.
///
/// # Errors
///
/// The compiler refuses, with a message that says what to write instead:
///
/// - a handler without a `&mut` parameter, or with two;
/// - a generic handler, a method with `self`, and a function that is not `async` or has no return type;
/// - a safe method, as in `#[get]`, because a read has no key;
/// - an option that is unknown, repeated or malformed;
/// - a duration of zero, over ten years, or in months or years, whose lengths vary; a size of zero or over 1 GiB;
///   a number without a unit;
/// - a `retain` that is not longer than `timeout`, and an `in_flight` that waits longer than `timeout`.
///
/// # Examples
///
/// ```text
/// use actix_web::{HttpResponse, post, web};
/// use diesel_async::{AsyncPgConnection, RunQueryDsl};
/// use idem_runtime::idempotent;
///
/// #[post("/orders")]
/// #[idempotent(scope = "account", retain = "24h")]
/// async fn create_order(
///     order: web::Json<NewOrder>,
///     conn: &mut AsyncPgConnection,
/// ) -> Result<HttpResponse, OrderError> {
///     let order: Order = diesel::insert_into(orders::table)
///         .values(order.into_inner())
///         .get_result(conn)
///         .await?;
///     Ok(HttpResponse::Created().json(order))
/// }
/// ```
///
/// Hold duplicates until the first attempt is done, in a scope that the application names:
///
/// ```text
/// #[idempotent(scope = "tenant", in_flight = "wait 2s", body_limit = "64KiB")]
/// #[put("/tenants/{tenant}/settings")]
/// async fn save_settings(
///     tenant: web::Path<String>,
///     settings: web::Json<Settings>,
///     conn: &mut AsyncPgConnection,
/// ) -> Result<HttpResponse, SettingsError> {
///     /* … */
/// }
/// ```
#[proc_macro_attribute]
pub fn idempotent(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    protect(attribute.into(), item.into()).into()
}

fn protect(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut problems = Problems::default();
    let args = args::parse(attribute, &mut problems);
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return fallback::item(&problems.and(not_a_function(error, &item)), &item),
    };
    match Handler::new(args, &function, problems) {
        Ok(handler) => expand::expand(handler),
        Err(error) => fallback::function(&error, function),
    }
}

/// What is wrong with an item that is no function; if it is no item either, the parser's own words.
fn not_a_function(error: syn::Error, item: &TokenStream) -> syn::Error {
    match syn::parse2::<Item>(item.clone()) {
        Ok(_) => syn::Error::new(
            Span::call_site(),
            "`#[idempotent]` protects a handler: put it on an `async fn` with a body",
        ),
        Err(_) => error,
    }
}
