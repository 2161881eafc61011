//! What the application had before, and has unchanged: its tables, who is asking, its errors, and the work itself.

mod schema;

use std::error::Error;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::error::BlockingError;
use actix_web::http::StatusCode;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError, error};
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, PoolError};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use serde::{Deserialize, Serialize};

use schema::orders;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

/// The pool of the application.
pub type Pool = diesel::r2d2::Pool<ConnectionManager<PgConnection>>;

/// What a handler answers.
pub type Answer = Result<HttpResponse, ApiError>;

/// What a client sends.
#[derive(Deserialize)]
pub struct NewOrder {
    item: String,
    quantity: i32,
}

/// What it gets.
#[derive(Queryable, Serialize)]
pub struct Order {
    id: i64,
    customer: String,
    item: String,
    quantity: i32,
}

/// Who is asking. A real application looks a session or a token up.
pub struct Customer(String);

/// The customer's name, which is in a header here.
pub fn customer(request: &HttpRequest) -> Option<String> {
    let name = request.headers().get("x-customer")?.to_str().ok()?;
    Some(name.to_owned())
}

impl FromRequest for Customer {
    type Error = actix_web::Error;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let customer = customer(request).map(Self);
        ready(customer.ok_or_else(|| error::ErrorUnauthorized("who are you?")))
    }
}

/// What goes wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// An order of nothing.
    #[error("the quantity must be positive")]
    Quantity,
    /// No connection.
    #[error("try again later")]
    Pool(#[from] PoolError),
    /// The database.
    #[error("failed")]
    Database(#[from] diesel::result::Error),
    /// No thread.
    #[error("try again later")]
    Blocking(#[from] BlockingError),
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Quantity => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Pool(_) | Self::Blocking(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Places an order.
pub fn place(
    conn: &mut PgConnection,
    customer: &Customer,
    new: &NewOrder,
) -> Result<Order, ApiError> {
    if new.quantity < 1 {
        return Err(ApiError::Quantity);
    }
    let row = (
        orders::customer.eq(&customer.0),
        orders::item.eq(&new.item),
        orders::quantity.eq(new.quantity),
    );
    let order = diesel::insert_into(orders::table)
        .values(row)
        .returning(orders::all_columns)
        .get_result(conn)?;
    Ok(order)
}

/// The customer's orders.
pub fn placed(conn: &mut PgConnection, customer: &Customer) -> Result<Vec<Order>, ApiError> {
    let placed = orders::table
        .filter(orders::customer.eq(&customer.0))
        .order(orders::id)
        .load(conn)?;
    Ok(placed)
}

/// Makes the tables: those of the application, and the one of `idem_runtime`, which the application before does not
/// use. (An application with files of its own has `idem migration generate` write one more of them.)
pub fn migrate(url: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut conn = PgConnection::establish(url)?;
    conn.run_pending_migrations(MIGRATIONS)?;
    conn.run_pending_migrations(idem_runtime::migrations::postgres())?;
    Ok(())
}
