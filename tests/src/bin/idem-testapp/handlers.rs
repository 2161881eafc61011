//! The protected handlers, written once and stamped per connection type. What they do is in `play`.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;

use actix_web::dev::Payload;
use actix_web::error::ErrorUnprocessableEntity;
use actix_web::{Error, FromRequest, HttpRequest, web};

use futures_util::StreamExt;

use crate::script::Script;
use crate::tools::Tools;

/// A script that is refused while `POST /fussy?refuse=true` holds: a validation that depends on the time.
pub(crate) struct Fussy(pub(crate) Script);

impl FromRequest for Fussy {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let tools = request.app_data::<web::Data<Tools>>().cloned();
        let script = web::Json::<Script>::from_request(request, payload);
        Box::pin(async move {
            let script = script.await?.into_inner();
            if tools.is_some_and(|tools| tools.is_fussy.load(Ordering::SeqCst)) {
                return Err(ErrorUnprocessableEntity("not today"));
            }
            Ok(Self(script))
        })
    }
}

/// The body as the wire sent it: nothing is inflated here.
pub(crate) struct Wire(Vec<u8>);

impl FromRequest for Wire {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    fn from_request(_: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let mut payload = payload.take();
        Box::pin(async move {
            let mut bytes = Vec::new();
            while let Some(piece) = payload.next().await {
                bytes.extend(piece?);
            }
            Ok(Self(bytes))
        })
    }
}

/// The text in which a form is hashed.
fn form_text(form: &BTreeMap<String, String>) -> String {
    form.iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect()
}

/// Writes a handler in one of two styles: one that waits for this future, or one that keeps its thread until it is done.
macro_rules! handler {
    (asynchronous $(#[$attribute:meta])* fn $name:ident($($parameters:tt)*) -> $output:ty { $future:expr }) => {
        $(#[$attribute])*
        async fn $name($($parameters)*) -> $output {
            $future.await
        }
    };
    (blocking $(#[$attribute:meta])* fn $name:ident($($parameters:tt)*) -> $output:ty { $future:expr }) => {
        $(#[$attribute])*
        fn $name($($parameters)*) -> $output {
            tokio::runtime::Handle::current().block_on($future)
        }
    };
}

macro_rules! scripts {
    ($style:ident $connection:ty; $($name:ident $path:literal ($($option:tt)*) $(wrap $wrap:literal)?;)*) => {$(
        handler! { $style
            #[post($path $(, wrap = $wrap)?)]
            #[idempotent($($option)*)]
            fn $name(
                script: web::Json<Script>,
                tools: web::Data<Tools>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, Failure> {
                play(&script, &tools, connection)
            }
        }
    )*};
}

macro_rules! queueing {
    ($style:ident $connection:ty; $($name:ident $path:literal ($($option:tt)*);)*) => {$(
        handler! { $style
            #[post($path)]
            #[idempotent($($option)*)]
            fn $name(
                script: web::Json<Script>,
                key: IdempotencyKey,
                tools: web::Data<Tools>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, Failure> {
                queue_and_play(&script, &key, &tools, connection)
            }
        }
    )*};
}

macro_rules! digests {
    ($style:ident $connection:ty; $($name:ident $path:literal $extractor:ty, $octets:expr;)*) => {$(
        handler! { $style
            #[post($path)]
            #[idempotent(scope = "account", retain = "24h")]
            fn $name(
                extracted: $extractor,
                tools: web::Data<Tools>,
                _connection: &mut $connection,
            ) -> HttpResponse {
                async move {
                    let octets: fn($extractor) -> Vec<u8> = $octets;
                    digest(stringify!($name), &tools, &octets(extracted))
                }
            }
        }
    )*};
}

macro_rules! stamp {
    ($module:ident $style:ident $connection:ty; serializable ($($serializable:tt)*)) => {
        pub(crate) mod $module {
            use std::collections::BTreeMap;

            use actix_web::{HttpResponse, post, web};
            use idem_runtime::{IdempotencyKey, idempotent};

            use super::{Fussy, Wire, form_text};
            use crate::failure::Failure;
            use crate::outbox::{queue_and_count, queue_and_play};
            use crate::play::{count_and_play, digest, play};
            use crate::script::Script;
            use crate::tools::Tools;

            scripts! { $style $connection;
                account "/account/script" (scope = "account", retain = "24h");
                item "/account/{id}/script" (scope = "account", retain = "24h");
                endpoint "/endpoint/script" (scope = "endpoint", retain = "24h");
                other_endpoint "/other-endpoint/script" (scope = "endpoint", retain = "24h");
                global "/global/script" (scope = "global", retain = "24h");
                brief "/brief/script" (scope = "account", retain = "2s", timeout = "1s");
                brief_wait "/brief-wait/script" (scope = "account", retain = "2s", timeout = "1s", in_flight = "wait 900ms");
                wait "/wait/script" (scope = "account", retain = "24h", in_flight = "wait 3s");
                success "/success/script" (scope = "account", retain = "24h", store = "success");
                all "/all/script" (scope = "account", retain = "24h", store = "all");
                optional "/optional/script" (scope = "account", retain = "24h", key = "optional");
                dated "/dated/script" (scope = "account", retain = "24h", expired_keys = "refuse");
                dated_wait "/dated-wait/script"
                    (scope = "account", retain = "24h", expired_keys = "refuse", in_flight = "wait 3s");
                raw "/raw/script" (scope = "account", retain = "24h", fingerprint = "raw");
                compressed "/compressed/script" (scope = "account", retain = "24h")
                    wrap "actix_web::middleware::Compress::default()";
                small "/small/script" (body_limit = "4KiB", response_limit = "1KiB");
            }

            digests! { $style $connection;
                form "/form" web::Form<BTreeMap<String, String>>, |form| form_text(&form).into_bytes();
                bytes "/bytes" web::Bytes, |bytes| bytes.to_vec();
                text "/text" String, String::into_bytes;
                wire "/wire" Wire, |wire| wire.0;
                json "/json" web::Json<serde_json::Value>, |json| {
                    // A handler may change what it got: the fingerprint is that of the wire.
                    let mut value = json.into_inner();
                    let canonical = value.to_string();
                    value.take();
                    canonical.into_bytes()
                };
            }

            handler! { $style
                #[post("/fussy/script")]
                #[idempotent(scope = "account", retain = "24h")]
                fn fussy(
                    script: Fussy,
                    tools: web::Data<Tools>,
                    connection: &mut $connection,
                ) -> Result<HttpResponse, Failure> {
                    play(&script.0, &tools, connection)
                }
            }

            handler! { $style
                #[idempotent(scope = "account", retain = "24h")]
                fn anywhere(
                    script: web::Json<Script>,
                    tools: web::Data<Tools>,
                    connection: &mut $connection,
                ) -> Result<HttpResponse, Failure> {
                    play(&script, &tools, connection)
                }
            }

            queueing! { $style $connection;
                outbox "/outbox/script" (scope = "account", retain = "24h");
                outbox_brief "/outbox-brief/script" (scope = "account", retain = "2s", timeout = "1s");
            }

            handler! { $style
                #[post("/serializable/script")]
                #[idempotent($($serializable)*)]
                fn serializable(
                    script: web::Json<Script>,
                    tools: web::Data<Tools>,
                    connection: &mut $connection,
                ) -> Result<HttpResponse, Failure> {
                    count_and_play(&script, &tools, connection)
                }
            }

            handler! { $style
                #[post("/outbox-serializable/script")]
                #[idempotent($($serializable)*)]
                fn outbox_serializable(
                    script: web::Json<Script>,
                    key: IdempotencyKey,
                    tools: web::Data<Tools>,
                    connection: &mut $connection,
                ) -> Result<HttpResponse, Failure> {
                    queue_and_count(&script, &key, &tools, connection)
                }
            }

            pub(crate) fn routes(config: &mut web::ServiceConfig) {
                config
                    .service(account)
                    .service(item)
                    .service(endpoint)
                    .service(other_endpoint)
                    .service(global)
                    .service(brief)
                    .service(brief_wait)
                    .service(wait)
                    .service(success)
                    .service(all)
                    .service(optional)
                    .service(dated)
                    .service(dated_wait)
                    .service(raw)
                    .service(compressed)
                    .service(small)
                    .service(form)
                    .service(bytes)
                    .service(text)
                    .service(wire)
                    .service(json)
                    .service(fussy)
                    .service(outbox)
                    .service(outbox_brief)
                    .service(serializable)
                    .service(outbox_serializable)
                    // Whatever the method, and without a route.
                    .service(web::scope("/anywhere").default_service(web::to(anywhere)));
            }
        }
    };
}

// SQLite has no choice of isolation: every transaction is alone: nothing to run again.
stamp! { mysql asynchronous diesel_async::AsyncMysqlConnection;
serializable (isolation = "serializable", retries = 5) }
#[cfg(feature = "mysql-blocking")]
stamp! { mysql_blocking blocking diesel::MysqlConnection;
serializable (isolation = "serializable", retries = 5) }
stamp! { postgres asynchronous diesel_async::AsyncPgConnection;
serializable (isolation = "serializable", retries = 5) }
stamp! { postgres_blocking blocking diesel::PgConnection;
serializable (isolation = "serializable", retries = 5) }
stamp! { sqlite asynchronous diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>;
serializable (retries = 5) }
stamp! { sqlite_blocking blocking diesel::SqliteConnection;
serializable (retries = 5) }

/// The blocking handler that stands among those that are not.
macro_rules! beside {
    ($module:ident $connection:ty) => {
        pub(crate) mod $module {
            use actix_web::{HttpResponse, post, web};
            use idem_runtime::idempotent;

            use crate::failure::Failure;
            use crate::play::play;
            use crate::script::Script;
            use crate::tools::Tools;

            scripts! { blocking $connection;
                blocking "/blocking/script" (scope = "account", retain = "24h");
            }

            pub(crate) fn routes(config: &mut web::ServiceConfig) {
                config.service(blocking);
            }
        }
    };
}

#[cfg(feature = "mysql-blocking")]
beside! { beside_mysql diesel::MysqlConnection }
beside! { beside_postgres diesel::PgConnection }
beside! { beside_sqlite diesel::SqliteConnection }
