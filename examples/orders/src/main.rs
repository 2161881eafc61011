//! A small API of orders, payments and shipments whose retries are safe, and a page that orders. Starting and stopping it,
//! and nothing else.
//!
//! `cargo run -p orders` needs no set-up: it makes a SQLite file. `ORDERS_DB` names another file, `DATABASE_URL`
//! a PostgreSQL database, and `PORT` another port. `ORDERS_DEMO_FAULTS=1` has the page's faults work on PostgreSQL too. `ORDERS_COURIER` is the directory of the courier's books. Receipts go
//! to the program itself, to `ORDERS_RECEIPTS_URL`, signed with `ORDERS_RECEIPTS_SECRET`, or to NATS at `NATS_URL`.

mod auth;
mod backends;
mod checkout;
mod courier;
mod db;
mod errors;
mod faults;
mod measured;
mod orders;
mod outlet;
mod payments;
#[cfg(test)]
mod proofs;
mod receipts;
mod schema;
mod shipments;
mod signed;
mod welcome;
mod workers;

use std::env;
use std::io;
use std::process::ExitCode;

use actix_web::middleware::{Condition, from_fn};
use actix_web::{App, HttpServer, web};
use idem_runtime::Backend;
use idem_runtime::pool::ConnectionPool;
use metrics_exporter_prometheus::PrometheusHandle;
use tracing_subscriber::EnvFilter;

use crate::courier::Courier;
use crate::db::Database;
use crate::errors::{ApiError, StartError};
use crate::outlet::Outlet;
use crate::signed::Secret;

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,idem_runtime=info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .init();
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("orders: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(), StartError> {
    let port = port()?;
    let measured = measured::install()?;
    let database = Database::from_env();
    let courier = Courier::from_env();
    let secret = Secret::from_env();
    let outlet = Outlet::from_env(secret.clone());
    database.migrate()?;
    actix_web::rt::System::new().block_on(async {
        measured::keep(measured.clone());
        let measured = web::Data::new(measured);
        match &database {
            Database::Sqlite(path) => {
                let pool = db::sqlite_pool(path).await?;
                let routes = backends::sqlite::routes(pool.clone(), courier, secret)?;
                serve(port, &database, &outlet, pool, measured, routes).await
            }
            Database::Postgres(url) => {
                let pool = db::postgres_pool(url).await?;
                let routes = backends::postgres::routes(pool.clone(), courier, secret)?;
                serve(port, &database, &outlet, pool, measured, routes).await
            }
        }
    })
}

async fn serve<C: Backend, Routes>(
    port: u16,
    database: &Database,
    outlet: &Outlet,
    pool: impl ConnectionPool<C>,
    measured: web::Data<PrometheusHandle>,
    routes: Routes,
) -> Result<(), StartError>
where
    Routes: Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
{
    let are_faults_open = faults::are_open(database);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::JsonConfig::default().error_handler(|error, _| bad_request(&error)))
            .app_data(web::PathConfig::default().error_handler(|_, _| ApiError::NotFound.into()))
            .configure(routes.clone())
            .configure(checkout::routes)
            .app_data(measured.clone())
            .service(measured::scrape)
            .default_service(web::to(async || Err::<&str, _>(ApiError::NotFound)))
            .wrap(Condition::new(are_faults_open, from_fn(faults::as_asked)))
    })
    .bind(("127.0.0.1", port))
    .map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::PortTaken(port),
        _ => StartError::Listen(error),
    })?;
    let Some(address) = server.addrs().first().copied() else {
        return Ok(());
    };
    let relay = outlet.relay(pool, address).await?;
    welcome::print(address, database, outlet);
    let served = server.run().await;
    println!("orders stops as soon as the receipts that are under way have arrived");
    // What else is queued waits for the next start.
    relay.stop().await;
    served.map_err(StartError::Listen)
}

fn bad_request(error: &dyn std::error::Error) -> actix_web::Error {
    ApiError::BadRequest(error.to_string()).into()
}

fn port() -> Result<u16, StartError> {
    match env::var("PORT") {
        Ok(port) => port.parse().map_err(|_| StartError::BadPort(port)),
        Err(_) => Ok(8080),
    }
}
