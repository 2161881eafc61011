//! What can go wrong, at a request and at the start, and how each is told. No queries.

use std::error::Error;
use std::io;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use idem_runtime::StepError;
use idem_runtime::outbox::EnqueueError;
use serde::Serialize;
use thiserror::Error;
use utoipa::{ToResponse, ToSchema};

/// Why a request is refused. A handler that returns one has its transaction rolled back, or that of its step.
///
/// The 4xx of a handler are remembered under the request's key, like any other answer: who has run into
/// [`ApiError::OutOfStock`] tries again with a new key. 401 and the 5xx leave the key unused; in lease mode a
/// 5xx leaves the operation unresolved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ApiError {
    #[error("send `Authorization: Bearer ACCOUNT:ANYTHING`")]
    Unauthorized,
    #[error("{0}")]
    BadRequest(String),
    #[error("the webhook's signature is not right")]
    BadSignature,
    #[error("there is nothing here")]
    NotFound,
    #[error("an order needs at least one item")]
    EmptyOrder,
    #[error("the quantity of {0} must be between 1 and 1000")]
    BadQuantity(String),
    #[error("there is no product {0}")]
    UnknownProduct(String),
    #[error("there is not enough of {0} in stock")]
    OutOfStock(String),
    #[error("a payment must be of at least one cent")]
    BadAmount,
    #[error("the order is cancelled")]
    Cancelled,
    #[error("the order has {0} cents to pay")]
    TooMuch(i64),
    #[error("the order has been paid for in part or in full")]
    AlreadyPaid,
    #[error("the order is on its way")]
    AlreadyShipped,
    #[error("the courier cannot be reached")]
    Courier(#[source] io::Error),
    #[error("a step of the operation failed")]
    Step(#[from] StepError),
    #[error("the receipt could not be queued")]
    Queue(#[from] EnqueueError),
    #[error("the database failed")]
    Database(#[from] diesel::result::Error),
    #[error("no connection to the database")]
    NoConnection(#[from] diesel_async::pooled_connection::bb8::RunError),
}

/// Why the request was refused.
#[derive(Serialize, ToSchema, ToResponse)]
pub(crate) struct Refused {
    error: &'static str,
    message: String,
}

impl ApiError {
    fn name(&self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::BadRequest(_) => "bad-request",
            Self::BadSignature => "bad-signature",
            Self::NotFound => "not-found",
            Self::EmptyOrder => "empty-order",
            Self::BadQuantity(_) => "bad-quantity",
            Self::UnknownProduct(_) => "unknown-product",
            Self::OutOfStock(_) => "out-of-stock",
            Self::BadAmount => "bad-amount",
            Self::Cancelled => "cancelled",
            Self::TooMuch(_) => "too-much",
            Self::AlreadyPaid => "already-paid",
            Self::AlreadyShipped => "already-shipped",
            Self::Courier(_) => "courier",
            Self::Step(_) => "step",
            Self::Queue(_) => "queue",
            Self::Database(_) => "database",
            Self::NoConnection(_) => "no-connection",
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Unauthorized | Self::BadSignature => StatusCode::UNAUTHORIZED,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::EmptyOrder | Self::BadQuantity(_) | Self::UnknownProduct(_) | Self::BadAmount => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::OutOfStock(_)
            | Self::Cancelled
            | Self::TooMuch(_)
            | Self::AlreadyPaid
            | Self::AlreadyShipped => StatusCode::CONFLICT,
            Self::Courier(_) => StatusCode::BAD_GATEWAY,
            Self::Step(error) => error.status_code(),
            Self::Queue(_) | Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NoConnection(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let Some(source) = self.source() {
            tracing::error!(%source, "{self}");
        }
        let body = Refused {
            error: self.name(),
            message: self.to_string(),
        };
        let mut response = HttpResponse::build(self.status_code()).json(body);
        if matches!(self, Self::Unauthorized) {
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Why the program does not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum StartError {
    #[error("PORT must be a number from 0 to 65535, and is {0:?}")]
    BadPort(String),
    #[error("port {0} is taken; choose another one, for example: PORT=8081 cargo run -p orders")]
    PortTaken(u16),
    #[error("cannot listen: {0}")]
    Listen(#[source] io::Error),
    #[error("cannot open the database: {0}")]
    Connect(#[from] diesel::ConnectionError),
    #[error("cannot set up the tables: {0}")]
    Migrate(#[source] Box<dyn Error + Send + Sync>),
    #[error("cannot make the connection pool: {0}")]
    Pool(#[from] diesel_async::pooled_connection::PoolError),
    #[error("idempotency is not configured as the endpoints need it: {0}")]
    Idempotency(#[from] idem_runtime::BuildError),
    #[error("receipts cannot be sent: {0}")]
    Webhook(#[from] idem_runtime::outbox::WebhookError),
    #[error("ORDERS_RECEIPTS_SECRET is {0}")]
    Sign(#[from] idem_runtime::outbox::InvalidSecret),
    #[error("cannot reach the server that NATS_URL names: {0}")]
    Nats(#[from] async_nats::ConnectError),
    #[error("cannot make the stream of the receipts: {0}")]
    Stream(#[from] async_nats::jetstream::context::CreateStreamError),
    #[error("the relay of the receipts is not configured as it should be: {0}")]
    Relay(#[from] idem_runtime::outbox::RelayBuildError),
    #[error("cannot record metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] io::Error),
}
