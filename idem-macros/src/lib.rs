//! The [`macro@idempotent`] attribute. Use it through the `idem-runtime` crate, which the generated code calls.
//!
//! An attribute passes through these, in this order: its text is parsed (`args`), judged by itself (`modes`, `lengths`)
//! and together with the function (`handler`), and the two become one item (`expand`); or the function comes back
//! with everything that is wrong with it (`fallback`).

mod args;
mod choices;
mod duration;
mod pointers;
mod size;
mod value;

mod attributes;
mod handler;
mod lengths;
mod modes;
mod signature;

mod expand;
mod fallback;

mod protect;

mod hint;
mod problems;

#[cfg(test)]
mod fuzzing;
#[cfg(test)]
mod tests;

/// Makes a handler of actix-web idempotent: within the retention window, for a given scope and key and a matching
/// fingerprint, its effect occurs once, and its response is replayed byte for byte.
///
/// The claim of the key, what the handler does on its connection, and the stored response are one database
/// transaction: either all three exist or none does. A handler that calls the outside world, which no transaction can
/// roll back, is protected in lease mode instead: the claim is committed before the handler runs, and renewed while
/// it runs.
///
/// # Syntax
///
/// ```text
/// #[idempotent]
/// #[idempotent(option = value, …)]
/// async fn handler(extractor: T, …, conn: &mut Connection) -> impl Responder { … }
///
/// #[idempotent]
/// #[idempotent(option = value, …)]
/// fn handler(extractor: T, …, conn: &mut Connection) -> impl Responder { … }
///
/// #[idempotent(mode = "lease")]
/// #[idempotent(mode = "lease", option = value, …)]
/// async fn handler(extractor: T, …, steps: Steps) -> impl Responder { … }
/// ```
///
/// - The one `&mut` parameter is the connection of the open transaction. It may stand anywhere among the
///   parameters; its type names the backend: `AsyncPgConnection`, `AsyncMysqlConnection`, or
///   `SyncConnectionWrapper<SqliteConnection>`.
/// - A handler that is not `async` works on a connection of diesel itself, `PgConnection`, `MysqlConnection` or
///   `SqliteConnection`, and runs on a thread that may block. Its extractors run before that, and what they give has to be `Send`.
/// - In lease mode there is no `&mut` parameter, because no connection is held while the handler runs. `Steps` is an
///   extractor like any other: `steps.call("charge", async |key| …)` remembers the result of an outside call, and
///   `steps.transaction("order", async |conn| …)` commits database work together with the record of its step.
/// - Every other parameter is an extractor of actix-web. There may be any number, and they may be patterns.
/// - The return type is anything that actix-web accepts from a handler. An `Err`, and every status from 400 on,
///   rolls the handler's work back; in lease mode, steps that are done stay done.
///
/// The attribute may stand above or below `#[post]`, `#[put]`, `#[patch]`, `#[delete]`, `#[route]` and `#[routes]`,
/// and needs none of them: `web::resource("/orders").route(web::post().to(create_order))` serves as well.
///
/// # Options
///
/// | option | values | default | what it says |
/// |---|---|---|---|
/// | `mode` | `"transaction"`, `"lease"` | `"transaction"` | what holds the claim while the handler runs: the open transaction; a committed claim that is renewed |
/// | `scope` | `"account"`, `"endpoint"`, `"global"`, or a scope that the application names | `"account"` | the namespace in which a key is unique |
/// | `retain` | a duration | `"24h"` | how long a recorded response is honoured, counted from its recording |
/// | `store` | `"final"`, `"success"`, `"all"` | `"final"` | which responses are recorded: 2xx, 3xx and 4xx except 401, 403, 408, 425 and 429; 2xx and 3xx; every one |
/// | `in_flight` | `"reject"`, `"wait <duration>"`, `"accept"` (lease mode) | `"reject"` | what a duplicate gets while the first attempt is running: 409 at once; its response if it comes in time, otherwise 409; 202 with the `Location` of a status resource |
/// | `key` | `"required"`, `"optional"` | `"required"` | whether a request without a key is refused, or runs unprotected |
/// | `expired_keys` | `"run"`, `"refuse"` | `"run"` | whether a UUIDv7 key that is nearly as old as `retain` and has no record is run, or refused with 410 because it may be a late retry |
/// | `fingerprint` | `"json"`, `"raw"` | `"json"` | whether JSON bodies are compared in canonical form, or like all others byte for byte |
/// | `body_limit` | a size | `"2MiB"` | the largest request body |
/// | `response_limit` | a size | `"1MiB"` | the largest response body |
/// | `redact` | a list of JSON pointers, such as `["/card/number"]` | none | which values of a JSON response are left out of what is recorded: a replay has `"[redacted]"` there; not with `resume = "background"` |
/// | `timeout` | a duration | `"30s"`; in lease mode ten times `lease` | how long one run of the handler may take |
/// | `isolation` | `"read committed"`, `"repeatable read"`, `"serializable"` | the database's | the isolation level of the transaction; not in lease mode |
/// | `retries` | a number from 0 to 10 | `0` | how often the handler is run again after a serialization failure or a deadlock; not in lease mode |
/// | `lease` | a duration | `"2m"` | lease mode only: how long a claim is trusted without a renewal |
/// | `unresolved` | `"hold"`, `"rerun"` | `"hold"` | lease mode only: what a retry may do when the lease has run out, so that nobody knows the outcome: nothing, until a reconciler or an operator has settled it; run the handler again |
/// | `resume` | `"client"`, `"background"` | `"client"` | lease mode with `unresolved = "rerun"` only: who drives a stranded operation to its end: the client, with a retry; a worker of the application |
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
/// - `unresolved = "rerun"` is your word that running the handler twice is safe: every outside call stands in a step,
///   and hands its derived key on to the provider.
/// - A blocking handler cannot be stopped: when its `timeout` is over the client gets 504, and what it does is rolled
///   back when it comes to its end.
/// - In lease mode a run that is slower than usual is carried by renewals. `timeout` stops one that hangs.
/// - A handler that is registered for a safe method where the attribute cannot see it, for example by
///   `web::get().to(handler)`, answers 500 and logs why.
///
/// # Errors
///
/// The compiler refuses, with a message that says what to write instead:
///
/// - a handler without a `&mut` parameter, or with two; in lease mode, one that has any;
/// - a generic handler, a method with `self`, and a function that has no return type; in lease mode, one that is not
///   `async`, because steps are awaited;
/// - an extractor of a blocking handler that cannot go to another thread, such as `HttpRequest`;
/// - a safe method, as in `#[get]`, because a read has no key;
/// - an option that is unknown, repeated or malformed;
/// - a duration of zero, over ten years, or in months or years, whose lengths vary; a size of zero or over 1 GiB;
///   a number without a unit;
/// - a JSON pointer in `redact` that is none (RFC 6901) or the whole body, or is there twice;
/// - a `retain` that is not longer than `timeout`, and an `in_flight` that waits longer than `timeout`;
/// - `lease`, `unresolved`, `resume` and `in_flight = "accept"` without `mode = "lease"`;
/// - in lease mode: `isolation`, because a step's transaction is READ COMMITTED; `retries`, because a run that failed is
///   not repeated within its request; `key = "optional"`, because without a key there is nothing to hold a lease on;
/// - in lease mode: `resume = "background"` without `unresolved = "rerun"`; `in_flight = "accept"` with the scope
///   `"endpoint"` or `"global"`, where the status resource could not tell whose operation it is asked for;
/// - `redact` with `resume = "background"`, because the request is kept whole there until its response is recorded;
/// - in lease mode: a `lease` that is under a second, longer than `retain`, or shorter than a `timeout` that is written.
///   How `retain` compares with `timeout` does not matter there.
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
///
/// Call a payment provider. A retry after a crash runs the handler again, and what is done answers from its record:
///
/// ```text
/// #[post("/orders")]
/// #[idempotent(mode = "lease", lease = "1m", unresolved = "rerun", in_flight = "accept")]
/// async fn pay_order(
///     order: web::Json<NewOrder>,
///     payments: web::Data<Payments>,
///     steps: Steps,
/// ) -> Result<HttpResponse, OrderError> {
///     let charge: Charge = steps
///         .call("charge", async |key| payments.charge(order.total, &key).await)
///         .await?;
///     let order: Order = steps
///         .transaction("order", async |conn| {
///             let row = order.paid_by(&charge);
///             let order = diesel::insert_into(orders::table).values(row).get_result(conn).await?;
///             Ok::<_, OrderError>(order)
///         })
///         .await?;
///     Ok(HttpResponse::Created().json(order))
/// }
/// ```
#[proc_macro_attribute]
pub fn idempotent(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    protect::protect(attribute.into(), item.into()).into()
}
