//! Handlers in lease mode, written once and stamped per connection type: `hold` and `rerun` without steps, and those
//! that take a script's steps. The outside world that they call is `provider`.

mod bookkeeper;
pub(crate) mod provider;
mod steps;

use actix_web::{HttpRequest, HttpResponse};
use clap::ValueEnum;
use idem_runtime::pool::ConnectionPool;
use idem_runtime::{Backend, IdempotencyKey, Steps, testing};

pub(crate) use bookkeeper::Bookkeeper;

use crate::effects::Writes;
use crate::failure::Failure;
use crate::outbox;
use crate::play::{end, pause};
use crate::script::{At, Script};
use crate::tools::Tools;

/// What the call of a handler without steps is called.
const CALL: &str = "script";

/// What became of the steps since the request was first sent.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Deployment {
    #[default]
    AsWritten,
    /// Every step has another name.
    Renamed,
    /// There is only the first step.
    Shorter,
}

/// The work without steps: the effects, and a call where the script says so.
async fn alone<C: Backend + Writes>(
    request: &HttpRequest,
    key: &IdempotencyKey,
    script: &Script,
    tools: &Tools,
    pool: &dyn ConnectionPool<C>,
) -> Result<HttpResponse, Failure> {
    enter(request, script, tools);
    pause(script, tools, At::Before).await;
    if !script.messages.is_empty() {
        outbox::queue(&mut **pool.lend().await?, key, &script.messages).await?;
    }
    if script.effects > 0 {
        let mut connection = pool.lend().await?;
        for _ in 0..script.effects {
            connection.insert(&script.label).await?;
        }
    }
    if script.call {
        provider::call(&tools.url, &script.label, &key.derive(CALL))
            .await
            .map_err(Failure::Outside)?;
    }
    pause(script, tools, At::After).await;
    end(script, tools)
}

/// The work in steps; how often the script has effects does not matter here.
async fn stepwise<C: Backend + Writes>(
    request: &HttpRequest,
    key: &IdempotencyKey,
    script: &Script,
    tools: &Tools,
    steps: &Steps<C>,
) -> Result<HttpResponse, Failure> {
    enter(request, script, tools);
    pause(script, tools, At::Before).await;
    let results = steps::take(steps, key, script, tools).await?;
    pause(script, tools, At::After).await;
    let response = end(script, tools)?;
    Ok(steps::tell(response, &results))
}

fn enter(request: &HttpRequest, script: &Script, tools: &Tools) {
    tools.enter(&script.label);
    if !(script.heartbeat && tools.has_heartbeat) {
        testing::stop_heartbeat(request);
    }
}

macro_rules! alone {
    ($connection:ty; $($name:ident $path:literal ($($option:tt)*);)*) => {$(
        #[post($path)]
        #[idempotent(mode = "lease", $($option)*)]
        async fn $name(
            request: HttpRequest,
            key: IdempotencyKey,
            script: web::Json<Script>,
            tools: web::Data<Tools>,
            pool: web::Data<dyn ConnectionPool<$connection>>,
        ) -> Result<HttpResponse, Failure> {
            super::alone(&request, &key, &script, &tools, &**pool).await
        }
    )*};
}

macro_rules! stepwise {
    ($connection:ty; $($name:ident $path:literal ($($option:tt)*);)*) => {$(
        #[post($path)]
        #[idempotent(mode = "lease", $($option)*)]
        async fn $name(
            request: HttpRequest,
            script: web::Json<Script>,
            tools: web::Data<Tools>,
            key: IdempotencyKey,
            steps: Steps<$connection>,
        ) -> Result<HttpResponse, Failure> {
            super::stepwise(&request, &key, &script, &tools, &steps).await
        }
    )*};
}

macro_rules! stamp {
    ($module:ident $connection:ty) => {
        pub(crate) mod $module {
            use actix_web::{HttpRequest, HttpResponse, post, web};
            use idem_runtime::pool::ConnectionPool;
            use idem_runtime::{IdempotencyKey, Steps, idempotent};

            use crate::failure::Failure;
            use crate::script::Script;
            use crate::tools::Tools;

            alone! { $connection;
                hold "/hold/script" (lease = "2s", unresolved = "hold");
                brief_hold "/brief-hold/script" (lease = "2s", unresolved = "hold", retain = "2s");
                rerun "/rerun/script" (lease = "2s", unresolved = "rerun");
                timely "/timely/script" (lease = "2s", unresolved = "hold", timeout = "1s");
                hasty "/hasty/script" (lease = "2s", unresolved = "rerun", timeout = "1s");
                patient "/patient/script" (lease = "2s", unresolved = "hold", in_flight = "wait 5s");
                picky "/picky/script" (lease = "2s", unresolved = "hold", store = "success");
                dated_rerun "/dated-rerun/script"
                    (lease = "2s", unresolved = "rerun", retain = "24h", expired_keys = "refuse");
                accept "/accept/script" (lease = "2s", unresolved = "rerun", in_flight = "accept");
                accept_hold "/accept-hold/script" (lease = "2s", unresolved = "hold", in_flight = "accept");
            }

            stepwise! { $connection;
                in_steps "/steps/script" (lease = "2s", unresolved = "rerun");
                brief_steps "/brief-steps/script" (lease = "2s", unresolved = "rerun", retain = "2s");
                hasty_steps "/hasty-steps/script" (lease = "2s", unresolved = "rerun", timeout = "1s");
                background "/background/script" (lease = "2s", unresolved = "rerun", resume = "background");
                brief_background "/brief-background/script"
                    (lease = "2s", unresolved = "rerun", resume = "background", retain = "2s");
            }

            pub(crate) fn routes(config: &mut web::ServiceConfig) {
                config
                    .service(hold)
                    .service(brief_hold)
                    .service(rerun)
                    .service(timely)
                    .service(hasty)
                    .service(patient)
                    .service(picky)
                    .service(dated_rerun)
                    .service(accept)
                    .service(accept_hold)
                    .service(in_steps)
                    .service(brief_steps)
                    .service(hasty_steps)
                    .service(background)
                    .service(brief_background);
            }
        }
    };
}

stamp! { mysql diesel_async::AsyncMysqlConnection }
stamp! { postgres diesel_async::AsyncPgConnection }
stamp! { sqlite diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection> }
