//! The server, stamped per connection type: pool, protection, routes.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{App, HttpServer, web};
use diesel::SqliteConnection;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8, deadpool};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncMysqlConnection, AsyncPgConnection};
use futures_util::future::BoxFuture;
use idem_runtime::pool::{self, ConnectionPool, LendError, Loan};
use idem_runtime::{Backend, Builder, Idempotency};

use crate::identity::Tenant;
use crate::leased::Bookkeeper;
use crate::migrate::Url;
use crate::tools::Tools;
use crate::{Arguments, commands, fatal, handlers, leased, outbox, unprotected};

/// Above any limit of ours, so that it is ours that is met.
const BODY_LIMIT: usize = 64 << 20;

macro_rules! serve {
    ($name:ident $connection:ty, $config:expr) => {
        pub(crate) async fn $name(url: Url, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
            let manager = AsyncDieselConnectionManager::<$connection>::new_with_config(
                url.for_diesel(),
                $config,
            );
            // The unprotected handlers take their connections from the same pool.
            let (builder, pool): (_, Arc<dyn ConnectionPool<$connection>>) = if arguments.deadpool {
                let pool = deadpool::Pool::builder(manager).max_size(arguments.pool_size as usize);
                let pool = pool.build()?;
                (Idempotency::builder(pool.clone()), Arc::new(pool))
            } else {
                let pool = bb8::Pool::builder().max_size(arguments.pool_size);
                let pool = pool.build(manager).await?;
                (Idempotency::builder(pool.clone()), Arc::new(pool))
            };
            let pool = web::Data::from(pool);
            let protection = configured(builder, arguments).build()?;
            let bookkeeper = Bookkeeper(url.clone());
            let tools = web::Data::new(Tools::new(url, arguments));
            let idempotency = web::Data::new(protection.clone());
            let (pool_of_app, tools_of_app) = (pool.clone(), tools.clone());
            let app = move || {
                App::new()
                    .app_data(idempotency.clone())
                    .service(idempotency.status_resource())
                    .app_data(pool_of_app.clone())
                    .app_data(tools_of_app.clone())
                    .app_data(web::PayloadConfig::new(BODY_LIMIT))
                    .app_data(web::JsonConfig::default().limit(BODY_LIMIT))
                    .app_data(web::FormConfig::default().limit(BODY_LIMIT))
                    .configure(handlers::$name::routes)
                    .configure(leased::$name::routes)
                    .configure(unprotected::$name::routes)
                    .configure(commands::routes)
                    .configure(outbox::routes)
            };
            // Dropping a worker lets it run on, for as long as the process.
            if arguments.maintenance {
                let _worker = protection.spawn_maintenance();
            }
            if arguments.completion {
                let _worker = protection.spawn_completion(app.clone());
            }
            if arguments.reconcile {
                let _worker = protection.spawn_reconciler(bookkeeper);
            }
            if let Some(event) = arguments.die_at {
                fatal::arm(event);
            }
            let pool = Shared(pool.into_inner());
            let relay = outbox::start(&arguments.relaying, pool, &tools).await?;
            let mut server = HttpServer::new(app);
            if let Some(workers) = arguments.workers {
                server = server.workers(workers);
            }
            let server = server
                .shutdown_timeout(arguments.shutdown_timeout_s)
                .bind(arguments.listen)?;
            let address = server.addrs().first().copied().ok_or("nothing listens")?;
            println!("listening on http://{address}");
            server.run().await?;
            if let Some(relay) = relay {
                relay.stop().await;
            }
            Ok(())
        }
    };
}

serve!(mysql AsyncMysqlConnection, pool::mysql_config());
serve!(postgres AsyncPgConnection, pool::postgres_config());
serve!(sqlite SyncConnectionWrapper<SqliteConnection>, pool::sqlite_config());

/// The application's pool, for the relay as well.
struct Shared<C>(Arc<dyn ConnectionPool<C>>);

impl<C: 'static> ConnectionPool<C> for Shared<C> {
    fn lend(&self) -> BoxFuture<'_, Result<Loan<C>, LendError>> {
        self.0.lend()
    }

    fn dedicate(&self) -> BoxFuture<'_, Result<C, LendError>> {
        self.0.dedicate()
    }
}

fn configured<C: Backend>(builder: Builder<C>, arguments: &Arguments) -> Builder<C> {
    let mut builder = builder.account::<Tenant>().status_path("/operations");
    if let Some(interval) = arguments.worker_interval_ms {
        builder = builder.worker_interval(Duration::from_millis(interval));
    }
    if let Some(timeout) = arguments.pool_timeout_ms {
        builder = builder.pool_timeout(Duration::from_millis(timeout));
    }
    if let Some(count) = arguments.max_operations {
        builder = builder.max_operations(count);
    }
    builder
}
