//! The server, for each connection type: pool, protection, routes.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer, web};
use clap::ValueEnum;
#[cfg(feature = "mysql-blocking")]
use diesel::MysqlConnection;
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection, R2D2Connection};
use diesel::{PgConnection, SqliteConnection};
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, bb8, deadpool};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncMysqlConnection, AsyncPgConnection};
use futures_util::future::BoxFuture;
use idem_runtime::pool::{self, ConnectionPool, LendError, Loan};
use idem_runtime::{Backend, Blocking, BlockingBackend, Builder, Idempotency};
use serde::Deserialize;

use crate::identity::Tenant;
use crate::leased::Bookkeeper;
use crate::migrate::Url;
use crate::tools::Tools;
use crate::{Arguments, commands, fatal, handlers, leased, measured, outbox, unprotected};

/// Above any limit of ours, so that it is ours that is met.
const BODY_LIMIT: usize = 64 << 20;

/// Whether the handlers are `async`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    #[default]
    Asynchronous,
    Blocking,
}

/// A pool of diesel-async, of the kind that was asked for.
macro_rules! pooled {
    ($connection:ty, $url:expr, $arguments:expr, $config:expr) => {{
        let manager = AsyncDieselConnectionManager::<$connection>::new_with_config(
            $url.for_diesel(),
            $config,
        );
        let pool: Arc<dyn ConnectionPool<$connection>> = if $arguments.deadpool {
            let pool = deadpool::Pool::builder(manager).max_size($arguments.pool_size as usize);
            Arc::new(pool.build()?)
        } else {
            let pool = bb8::Pool::builder().max_size($arguments.pool_size);
            Arc::new(pool.build(manager).await?)
        };
        pool
    }};
}
/// The server of this backend, in the style that was asked for.
pub(crate) async fn run(url: Url, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    match (&url, arguments.style) {
        (Url::Postgres(_), Style::Asynchronous) => {
            let beside = beside(
                threads(&url, arguments, pool::postgres_customizer()),
                arguments,
            )?;
            let pool = pooled!(AsyncPgConnection, url, arguments, pool::postgres_config());
            let routes = move |config: &mut ServiceConfig| {
                config
                    .configure(handlers::postgres::routes)
                    .configure(leased::postgres::routes)
                    .configure(unprotected::postgres::routes)
                    .app_data(beside.clone())
                    .configure(handlers::beside_postgres::routes);
            };
            serve(url, arguments, pool, routes).await
        }
        (Url::Mysql(_), Style::Asynchronous) => {
            #[cfg(feature = "mysql-blocking")]
            let beside = beside(
                threads(&url, arguments, pool::mysql_customizer()),
                arguments,
            )?;
            let pool = pooled!(AsyncMysqlConnection, url, arguments, pool::mysql_config());
            let routes = move |config: &mut ServiceConfig| {
                config
                    .configure(handlers::mysql::routes)
                    .configure(leased::mysql::routes)
                    .configure(unprotected::mysql::routes);
                #[cfg(feature = "mysql-blocking")]
                config
                    .app_data(beside.clone())
                    .configure(handlers::beside_mysql::routes);
            };
            serve(url, arguments, pool, routes).await
        }
        #[cfg(not(feature = "mysql-blocking"))]
        (Url::Mysql(_), Style::Blocking) => {
            Err("built without the feature `mysql-blocking`".into())
        }
        #[cfg(feature = "mysql-blocking")]
        (Url::Mysql(_), Style::Blocking) => {
            let pool = threads(&url, arguments, pool::mysql_customizer());
            let legacy = web::Data::new(pool.clone());
            let routes = move |config: &mut ServiceConfig| {
                config
                    .app_data(legacy.clone())
                    .route(ON_A_THREAD, web::get().to(on_a_thread::<MysqlConnection>))
                    .configure(handlers::mysql_blocking::routes)
                    .configure(handlers::beside_mysql::routes);
            };
            serve(url, arguments, pool.shared(), routes).await
        }
        (Url::Sqlite(_), Style::Asynchronous) => {
            let beside = beside(
                threads(&url, arguments, pool::sqlite_customizer()),
                arguments,
            )?;
            let pool = pooled!(
                SyncConnectionWrapper<SqliteConnection>,
                url,
                arguments,
                pool::sqlite_config()
            );
            let routes = move |config: &mut ServiceConfig| {
                config
                    .configure(handlers::sqlite::routes)
                    .configure(leased::sqlite::routes)
                    .configure(unprotected::sqlite::routes)
                    .app_data(beside.clone())
                    .configure(handlers::beside_sqlite::routes);
            };
            serve(url, arguments, pool, routes).await
        }
        (Url::Postgres(_), Style::Blocking) => {
            let pool = threads(&url, arguments, pool::postgres_customizer());
            let legacy = web::Data::new(pool.clone());
            let routes = move |config: &mut ServiceConfig| {
                config
                    .app_data(legacy.clone())
                    .route(ON_A_THREAD, web::get().to(on_a_thread::<PgConnection>))
                    .configure(handlers::postgres_blocking::routes)
                    .configure(handlers::beside_postgres::routes);
            };
            serve(url, arguments, pool.shared(), routes).await
        }
        (Url::Sqlite(_), Style::Blocking) => {
            let pool = threads(&url, arguments, pool::sqlite_customizer());
            let legacy = web::Data::new(pool.clone());
            let routes = move |config: &mut ServiceConfig| {
                config
                    .app_data(legacy.clone())
                    .route(ON_A_THREAD, web::get().to(on_a_thread::<SqliteConnection>))
                    .configure(handlers::sqlite_blocking::routes)
                    .configure(handlers::beside_sqlite::routes);
            };
            serve(url, arguments, pool.shared(), routes).await
        }
    }
}

/// A pool of diesel's own connections. They are made when they are needed.
fn threads<C: R2D2Connection + 'static>(
    url: &Url,
    arguments: &Arguments,
    customizer: Box<dyn CustomizeConnection<C, r2d2::Error>>,
) -> r2d2::Pool<ConnectionManager<C>> {
    r2d2::Pool::builder()
        .max_size(arguments.pool_size)
        .min_idle(Some(0))
        // No query at each checkout, as in the other pools.
        .test_on_check_out(false)
        .connection_customizer(customizer)
        .build_unchecked(ConnectionManager::new(url.for_diesel()))
}

const ON_A_THREAD: &str = "/on-a-thread";

#[derive(Deserialize)]
struct OnAThread {
    #[serde(default)]
    pooled: bool,
}

/// A handler as applications have them: a closure on a thread, with a connection of the same pool or without.
async fn on_a_thread<C: R2D2Connection + Send + 'static>(
    pool: web::Data<r2d2::Pool<ConnectionManager<C>>>,
    query: web::Query<OnAThread>,
    tools: web::Data<Tools>,
) -> actix_web::Result<&'static str> {
    let work = move || {
        tools.enter(ON_A_THREAD);
        match query.pooled {
            true => pool.get().map(drop),
            false => Ok(()),
        }
    };
    let done = web::block(work).await?;
    done.map_err(actix_web::error::ErrorServiceUnavailable)?;
    Ok("done")
}

/// What protects the blocking handler among those that are not.
fn beside<C: BlockingBackend + R2D2Connection>(
    pool: r2d2::Pool<ConnectionManager<C>>,
    arguments: &Arguments,
) -> Result<web::Data<Idempotency<Blocking<C>>>, Box<dyn Error>> {
    let protection = configured(Idempotency::builder(pool), arguments).build()?;
    Ok(web::Data::new(protection))
}

async fn serve<C: Backend>(
    url: Url,
    arguments: &Arguments,
    pool: Arc<dyn ConnectionPool<C>>,
    routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> Result<(), Box<dyn Error>> {
    let measured = match arguments.metrics {
        true => Some(measured::routes(measured::install()?)),
        false => None,
    };
    let protection = configured(Idempotency::builder(Shared(Arc::clone(&pool))), arguments);
    let protection = protection.build()?;
    let bookkeeper = Bookkeeper(url.clone());
    // Nobody configures what these need.
    let unconfigured = match &url {
        Url::Sqlite(_) => handlers::beside_postgres::routes,
        Url::Postgres(_) | Url::Mysql(_) => handlers::beside_sqlite::routes,
    };
    let tools = web::Data::new(Tools::new(url, arguments));
    let idempotency = web::Data::new(protection.clone());
    // The unprotected handlers take their connections from the same pool.
    let pool_of_app = web::Data::from(Arc::clone(&pool));
    let tools_of_app = tools.clone();
    let app = move || {
        let measured = measured.clone();
        App::new()
            .configure(move |config| measured.iter().for_each(|routes| routes(config)))
            .app_data(idempotency.clone())
            .service(idempotency.status_resource())
            .app_data(pool_of_app.clone())
            .app_data(tools_of_app.clone())
            .app_data(web::PayloadConfig::new(BODY_LIMIT))
            .app_data(web::JsonConfig::default().limit(BODY_LIMIT))
            .app_data(web::FormConfig::default().limit(BODY_LIMIT))
            .configure(routes.clone())
            .service(web::scope("/unconfigured").configure(unconfigured))
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
    let relay = outbox::start(&arguments.relaying, Shared(pool), &tools).await?;
    let mut server = HttpServer::new(app);
    if let Some(workers) = arguments.workers {
        server = server.workers(workers);
    }
    if let Some(threads) = arguments.blocking_threads {
        server = server.worker_max_blocking_threads(threads);
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
