//! A network that loses requests and answers, for whoever asks for it: so that a visitor of the checkout page sees what
//! becomes of an order. For demonstrations only: on a SQLite file, or where `ORDERS_DEMO_FAULTS=1` asks for it. It never touches
//! a request that does not ask for it, one to another path than that of orders, or what a handler does.

use std::env;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderValue;
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use thiserror::Error;
use tokio::time::sleep;

use crate::db::Database;
use crate::errors::ApiError;

/// The header by which a request asks for it.
const ASKED: &str = "x-demo-fault";

/// Where it may.
const PATH: &str = "/orders";

/// For how long nothing is said. Clients have less patience.
const SILENCE: Duration = Duration::from_secs(60);

/// What is to become of a request.
#[derive(Clone, Copy)]
enum Fault {
    /// It does not arrive: its handler is not entered, and the connection is closed.
    RequestLost,
    /// Its handler runs to the end, and the connection is closed in place of an answer.
    AnswerLost,
    /// Its handler runs to the end, and nothing is heard of it for a long time.
    Silent,
}

impl Fault {
    fn asked_for(value: &HeaderValue) -> Result<Self, ApiError> {
        match value.as_bytes() {
            b"request-lost" => Ok(Self::RequestLost),
            b"answer-lost" => Ok(Self::AnswerLost),
            b"silent" => Ok(Self::Silent),
            _ => Err(ApiError::BadRequest(format!(
                "{ASKED} is `request-lost`, `answer-lost` or `silent`"
            ))),
        }
    }
}

/// Whether requests may ask for it: not in front of a database that may be somebody's, unless its operator wants it.
pub(crate) fn are_open(database: &Database) -> bool {
    let wanted = env::var_os("ORDERS_DEMO_FAULTS").is_some_and(|value| value == "1");
    wanted || matches!(database, Database::Sqlite(_))
}

/// A middleware around everything: its answer is the last thing that happens to a request.
pub(crate) async fn as_asked(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let asked = request.headers().get(ASKED);
    let Some(asked) = asked.filter(|_| request.path() == PATH) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let fault = Fault::asked_for(asked)?;
    if matches!(fault, Fault::RequestLost) {
        return Ok(request.into_response(HttpResponse::Ok().body(Closed).map_into_boxed_body()));
    }
    let response = next.call(request).await?;
    if matches!(fault, Fault::Silent) {
        sleep(SILENCE).await;
    }
    Ok(response.map_body(|_, _| Closed).map_into_boxed_body())
}

/// A body that cannot be sent. The server then closes the connection before it has written the head of the answer.
struct Closed;

#[derive(Debug, Error)]
#[error("the answer is lost on purpose")]
struct Lost;

impl MessageBody for Closed {
    type Error = Lost;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Lost>>> {
        Poll::Ready(Some(Err(Lost)))
    }
}
