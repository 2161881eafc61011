//! Handlers that `#[idempotent]` does not protect, to be compared with those that it does: the same work bare, with the
//! flow by hand, and with the record alone. What they have in common with each other is in `transaction` and `stored`.

mod byhand;
mod floor;
mod stored;
mod transaction;

use actix_web::{HttpRequest, HttpResponse};
use idem_runtime::pool::ConnectionPool;

use crate::failure::Failure;
use crate::play::play;
use crate::script::Script;
use crate::tools::Tools;
use transaction::{Connection, Ending, in_transaction};

/// `BEGIN; work; COMMIT`, on a connection of the pool that the protected handlers use.
async fn bare<C: Connection>(
    script: &Script,
    tools: &Tools,
    pool: &dyn ConnectionPool<C>,
) -> Result<HttpResponse, Failure> {
    in_transaction(pool, async |connection| {
        let response = play(script, tools, connection).await?;
        let ending = Ending::of(&response);
        Ok((response, ending))
    })
    .await
}

/// The key as it stands on its line; nothing is checked here.
fn key(request: &HttpRequest) -> Option<&str> {
    request.headers().get("idempotency-key")?.to_str().ok()
}

fn no_key() -> HttpResponse {
    HttpResponse::BadRequest().body("send an Idempotency-Key")
}

macro_rules! stamp {
    ($module:ident $connection:ty) => {
        pub(crate) mod $module {
            use actix_web::{HttpRequest, HttpResponse, post, web};
            use idem_runtime::pool::ConnectionPool;

            use super::{byhand, floor, key, no_key};
            use crate::failure::Failure;
            use crate::identity::Tenant;
            use crate::script::Script;
            use crate::tools::Tools;

            type Pool = web::Data<dyn ConnectionPool<$connection>>;

            #[post("/bare/script")]
            async fn bare(
                script: web::Json<Script>,
                tools: web::Data<Tools>,
                pool: Pool,
            ) -> Result<HttpResponse, Failure> {
                super::bare(&script, &tools, &**pool).await
            }

            #[post("/byhand/script")]
            async fn by_hand(
                request: HttpRequest,
                tenant: Tenant,
                script: web::Json<Script>,
                tools: web::Data<Tools>,
                pool: Pool,
            ) -> Result<HttpResponse, Failure> {
                match key(&request) {
                    Some(key) => byhand::run(&tenant.0, key, &script, &tools, &**pool).await,
                    None => Ok(no_key()),
                }
            }

            /// For benchmarks only: two requests with one key run both, and the second one fails.
            #[post("/floor/script")]
            async fn on_the_floor(
                request: HttpRequest,
                tenant: Tenant,
                script: web::Json<Script>,
                tools: web::Data<Tools>,
                pool: Pool,
            ) -> Result<HttpResponse, Failure> {
                match key(&request) {
                    Some(key) => floor::run(&tenant.0, key, &script, &tools, &**pool).await,
                    None => Ok(no_key()),
                }
            }

            pub(crate) fn routes(config: &mut web::ServiceConfig) {
                config.service(bare).service(by_hand).service(on_the_floor);
            }
        }
    };
}

/// Nobody compares there.
pub(crate) mod mysql {
    pub(crate) fn routes(_: &mut actix_web::web::ServiceConfig) {}
}

stamp! { postgres diesel_async::AsyncPgConnection }
stamp! { sqlite diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection> }
