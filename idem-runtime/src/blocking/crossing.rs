//! A blocking handler on its thread: what it needs of the request goes there, and what comes back of its
//! response is status, headers and bytes.
//!
//! No SQL, no decisions about what a response means.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::http::header::HeaderMap;
use actix_web::http::{ConnectionType, Method, StatusCode, Uri, Version};
use actix_web::test::TestRequest;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError};
use tokio::runtime::Handle;
use tokio::task::LocalSet;
use tokio::time::{Instant, timeout_at};
use tracing::Span;

use super::{Blocking, Extractors};
use crate::policy::IdempotencyPolicy;
use crate::private::Incoming;
use crate::response;
use crate::retry::Retry;
use crate::store::BlockingBackend;

/// Runs one protected blocking handler for one request: as [`crate::run::run`] does, but for where the
/// handler itself runs.
pub async fn run<C, A, F>(
    incoming: Incoming,
    policy: &'static IdempotencyPolicy,
    handler: F,
) -> HttpResponse
where
    C: BlockingBackend,
    A: FromRequest + Extractors,
    F: Fn(A, &mut C, &HttpRequest) -> HttpResponse + Copy + Send + 'static,
{
    let handler = async move |arguments: A, connection: &mut Blocking<C>, request: &HttpRequest| {
        let head = Head::of(request);
        let limit = policy.response_limit;
        let until = Instant::now() + policy.timeout - to_say_so(policy.timeout);
        let span = Span::current();
        let work = move |connection: &mut C| {
            let _in_request = span.enter();
            let answer = || {
                Taken::apart(
                    handler(arguments, connection, &head.request()),
                    limit,
                    until,
                )
            };
            catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|panic| unwind(connection, panic))
        };
        match connection.on_thread(work).await {
            Ok(taken) => taken.together(),
            Err(gone) => gone.resume(),
        }
    };
    crate::run::run(incoming, policy, handler).await
}

/// Rolls back before anybody hears of the panic. The connection is then given up: nobody knows what was being
/// done on it.
fn unwind<C: BlockingBackend>(connection: &mut C, panic: Box<dyn Any + Send>) -> ! {
    if let Err(error) = connection.abandon() {
        tracing::warn!(%error, "a transaction could not be rolled back; its connection is closed");
    }
    resume_unwind(panic)
}

/// A body that does not end in time is a response that cannot be stored, and not a handler that is late: its
/// thread has to say so before the handler's time is over.
fn to_say_so(timeout: Duration) -> Duration {
    Duration::from_millis(50).min(timeout / 10)
}

/// What a `Responder` may ask of the request that it answers.
struct Head {
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    peer: Option<SocketAddr>,
}

impl Head {
    fn of(request: &HttpRequest) -> Self {
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            headers: request.headers().clone(),
            peer: request.peer_addr(),
        }
    }

    /// A request of this thread, without the application's data and the request's extensions. Only actix-web's
    /// test module makes one outside of a server.
    fn request(self) -> HttpRequest {
        let mut request = TestRequest::default().to_srv_request();
        let head = request.head_mut();
        head.method = self.method;
        head.uri = self.uri;
        head.version = self.version;
        head.headers = self.headers;
        head.peer_addr = self.peer;
        request.into_parts().0
    }
}

/// A response in parts that can cross threads.
#[derive(Clone)]
struct Taken {
    status: StatusCode,
    headers: HeaderMap,
    reason: Option<&'static str>,
    connection: Option<ConnectionType>,
    /// `None` is a response without a body.
    body: Result<Option<Bytes>, String>,
    /// What the handler's `Err` says of itself.
    error: Option<Failed>,
    asks_again: bool,
}

impl Taken {
    fn apart(response: HttpResponse, limit: usize, until: Instant) -> Self {
        let error = response.error().map(|error| Failed {
            said: error.to_string(),
            known: format!("{error:?}"),
        });
        let asks_again = Retry::is_asked_by(&response);
        let (mut head, body) = response.into_parts();
        // A response says this only where it wants the connection closed or upgraded.
        let connection = Some(head.head().connection_type())
            .filter(|connection| *connection != ConnectionType::KeepAlive);
        Self {
            status: head.status(),
            reason: head.head().reason,
            connection,
            headers: std::mem::take(head.headers_mut()),
            body: read(body, limit, until),
            error,
            asks_again,
        }
    }

    fn together(mut self) -> HttpResponse {
        match self.error.take() {
            Some(failed) => HttpResponse::from_error(Crossed {
                failed,
                response: self,
            }),
            None => self.response(),
        }
    }

    fn response(self) -> HttpResponse {
        let mut unread = None;
        let body = match self.body {
            Ok(Some(bytes)) => BoxBody::new(bytes),
            Ok(None) => response::none(),
            Err(why) => {
                unread = Some(Unread(why));
                response::none()
            }
        };
        let mut response = HttpResponse::with_body(self.status, body);
        *response.headers_mut() = self.headers;
        let head = response.head_mut();
        head.reason = self.reason;
        if let Some(connection) = self.connection {
            head.set_connection_type(connection);
        }
        if let Some(unread) = unread {
            response.extensions_mut().insert(unread);
        }
        if self.asks_again {
            Retry::mark(&mut response);
        }
        response
    }
}

/// The whole body. One that is at hand is taken as it is; one that is still to come has to come on this
/// thread, in time and up to the limit.
fn read(body: BoxBody, limit: usize, until: Instant) -> Result<Option<Bytes>, String> {
    let body = match response::at_hand(body) {
        Ok(bytes) => return Ok(bytes),
        Err(body) => body,
    };
    let reading = async {
        let reading = response::read(body, limit);
        timeout_at(until, reading).await
    };
    // A body may start tasks of its own, as on a worker of actix.
    match Handle::current().block_on(LocalSet::new().run_until(reading)) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the response body did not end".to_owned()),
    }
}

/// Why the body of a response could not be read.
struct Unread(String);

/// Why the body of this response could not be read on the handler's thread, if that is so. There is nothing
/// to be sent then.
pub(crate) fn is_unread(response: &HttpResponse) -> Option<String> {
    response
        .extensions()
        .get::<Unread>()
        .map(|unread| unread.0.clone())
}

/// What an error says of itself.
#[derive(Clone)]
struct Failed {
    said: String,
    known: String,
}

/// The handler's `Err` and the response that it gave, on this side.
struct Crossed {
    failed: Failed,
    response: Taken,
}

impl fmt::Display for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failed.said)
    }
}

impl fmt::Debug for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failed.known)
    }
}

impl ResponseError for Crossed {
    fn status_code(&self) -> StatusCode {
        self.response.status
    }

    fn error_response(&self) -> HttpResponse {
        self.response.clone().response()
    }
}
