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

macro_rules! scripts {
    ($connection:ty; $($name:ident $path:literal ($($option:tt)*) $(wrap $wrap:literal)?;)*) => {$(
        #[post($path $(, wrap = $wrap)?)]
        #[idempotent($($option)*)]
        async fn $name(
            script: web::Json<Script>,
            tools: web::Data<Tools>,
            connection: &mut $connection,
        ) -> Result<HttpResponse, Failure> {
            play(&script, &tools, connection).await
        }
    )*};
}

macro_rules! queueing {
    ($connection:ty; $($name:ident $path:literal ($($option:tt)*);)*) => {$(
        #[post($path)]
        #[idempotent($($option)*)]
        async fn $name(
            script: web::Json<Script>,
            key: IdempotencyKey,
            tools: web::Data<Tools>,
            connection: &mut $connection,
        ) -> Result<HttpResponse, Failure> {
            queue_and_play(&script, &key, &tools, connection).await
        }
    )*};
}

macro_rules! digests {
    ($connection:ty; $($name:ident $path:literal $extractor:ty, $octets:expr;)*) => {$(
        #[post($path)]
        #[idempotent(scope = "account", retain = "24h")]
        async fn $name(
            extracted: $extractor,
            tools: web::Data<Tools>,
            _connection: &mut $connection,
        ) -> HttpResponse {
            let octets: fn($extractor) -> Vec<u8> = $octets;
            digest(stringify!($name), &tools, &octets(extracted))
        }
    )*};
}

macro_rules! stamp {
    ($module:ident $connection:ty { $($here:item)* }) => {
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

            scripts! { $connection;
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
                raw "/raw/script" (scope = "account", retain = "24h", fingerprint = "raw");
                compressed "/compressed/script" (scope = "account", retain = "24h")
                    wrap "actix_web::middleware::Compress::default()";
                small "/small/script" (body_limit = "4KiB", response_limit = "1KiB");
            }

            digests! { $connection;
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

            #[post("/fussy/script")]
            #[idempotent(scope = "account", retain = "24h")]
            async fn fussy(
                script: Fussy,
                tools: web::Data<Tools>,
                connection: &mut $connection,
            ) -> Result<HttpResponse, Failure> {
                play(&script.0, &tools, connection).await
            }

            queueing! { $connection;
                outbox "/outbox/script" (scope = "account", retain = "24h");
                outbox_brief "/outbox-brief/script" (scope = "account", retain = "2s", timeout = "1s");
            }

            $($here)*

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
                    .configure(more_routes);
            }
        }
    };
}

stamp! { mysql diesel_async::AsyncMysqlConnection {
    #[post("/serializable/script")]
    #[idempotent(isolation = "serializable", retries = 5)]
    async fn serializable(
        script: web::Json<Script>,
        tools: web::Data<Tools>,
        connection: &mut diesel_async::AsyncMysqlConnection,
    ) -> Result<HttpResponse, Failure> {
        count_and_play(&script, &tools, connection).await
    }

    #[post("/outbox-serializable/script")]
    #[idempotent(isolation = "serializable", retries = 5)]
    async fn outbox_serializable(
        script: web::Json<Script>,
        key: IdempotencyKey,
        tools: web::Data<Tools>,
        connection: &mut diesel_async::AsyncMysqlConnection,
    ) -> Result<HttpResponse, Failure> {
        queue_and_count(&script, &key, &tools, connection).await
    }

    fn more_routes(config: &mut web::ServiceConfig) {
        config.service(serializable).service(outbox_serializable);
    }
} }

stamp! { postgres diesel_async::AsyncPgConnection {
    /// SQLite has no choice of isolation.
    #[post("/serializable/script")]
    #[idempotent(isolation = "serializable", retries = 5)]
    async fn serializable(
        script: web::Json<Script>,
        tools: web::Data<Tools>,
        connection: &mut diesel_async::AsyncPgConnection,
    ) -> Result<HttpResponse, Failure> {
        count_and_play(&script, &tools, connection).await
    }

    #[post("/outbox-serializable/script")]
    #[idempotent(isolation = "serializable", retries = 5)]
    async fn outbox_serializable(
        script: web::Json<Script>,
        key: IdempotencyKey,
        tools: web::Data<Tools>,
        connection: &mut diesel_async::AsyncPgConnection,
    ) -> Result<HttpResponse, Failure> {
        queue_and_count(&script, &key, &tools, connection).await
    }

    fn more_routes(config: &mut web::ServiceConfig) {
        config.service(serializable).service(outbox_serializable);
    }
} }

stamp! { sqlite diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection> {
    /// Here every transaction is alone: nothing to run again.
    #[post("/serializable/script")]
    #[idempotent(retries = 5)]
    async fn serializable(
        script: web::Json<Script>,
        tools: web::Data<Tools>,
        connection: &mut diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
    ) -> Result<HttpResponse, Failure> {
        count_and_play(&script, &tools, connection).await
    }

    #[post("/outbox-serializable/script")]
    #[idempotent(retries = 5)]
    async fn outbox_serializable(
        script: web::Json<Script>,
        key: IdempotencyKey,
        tools: web::Data<Tools>,
        connection: &mut diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>,
    ) -> Result<HttpResponse, Failure> {
        queue_and_count(&script, &key, &tools, connection).await
    }

    fn more_routes(config: &mut web::ServiceConfig) {
        config.service(serializable).service(outbox_serializable);
    }
} }
