//! Messages to an HTTP endpoint, signed as Standard Webhooks has it.
//!
//! No SQL.

mod signature;

use std::fmt;
use std::time::{Duration, SystemTime};

use actix_web::http::header::HttpDate;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER, TRANSFER_ENCODING,
};
use reqwest::{Client, ClientBuilder, Response, StatusCode, Url, redirect};
use tokio::time::{Instant, timeout};

use super::sending::{TIMEOUT, within};
use super::{OutboxMessage, PublishError, Publisher};
use signature::Secret;

pub use signature::InvalidSecret;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What the client alone says.
const FRAMING: [HeaderName; 4] = [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION];

/// As much of an answer's body is read, so that its connection can be used again; nobody looks at it.
const REST: usize = 16 * 1024;
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// Posts messages to one URL, and returns when it has answered 2xx.
///
/// The payload is the body; the message's headers are sent as they are, its content type as
/// `Content-Type`, and its id as `Idempotency-Key: "<id>"` and as `webhook-id`. With a
/// [secret](Self::secret) the request carries `webhook-timestamp` and `webhook-signature` as well, as
/// [Standard Webhooks](https://www.standardwebhooks.com) has it (symmetric, `v1`). The topic is not sent:
/// an endpoint that takes several needs a header, or to find it in the payload.
///
/// # Once
///
/// The endpoint treats a second request with the same `Idempotency-Key` (or `webhook-id`) as a retry: a
/// handler under [`#[idempotent]`](macro@crate::idempotent) does. It remembers the ids for longer than
/// the relays may go on trying. Each attempt has a timestamp and so a signature of its own.
///
/// # Errors
///
/// Temporary: the endpoint cannot be reached, the connection is lost, no answer within the
/// [timeout](Self::timeout); 408, 409, 425, 429 and 5xx. Where such an answer has `Retry-After`, as
/// seconds or as a date, the next attempt waits for it. After any of them the message may have arrived.
///
/// Permanent: every other status, redirects included, which are never followed: a signed message goes
/// where its URL says or nowhere. And a header that HTTP cannot carry, or that is HTTP's own to say
/// (`Host`, `Content-Length`, `Transfer-Encoding`, `Connection`).
///
/// # Cancellation
///
/// A call that is dropped may have sent the message; its connection is closed.
///
/// # Examples
///
/// ```
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::outbox::WebhookPublisher;
///
/// let publisher = WebhookPublisher::new("http://localhost/hooks")?
///     .secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// # Ok(())
/// # }
/// ```
///
/// TLS is the application's choice: for `https` enable `rustls` or `native-tls` on its own `reqwest`.
#[derive(Clone)]
pub struct WebhookPublisher {
    client: Client,
    url: Url,
    secrets: Vec<Secret>,
    timeout: Duration,
}

/// Why there can be no such publisher. Neither the URL nor a secret is repeated here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The URL is not one of HTTP.
    #[error("not a URL of http or https")]
    Url,
    /// The client that was given cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the endpoint answered {}", .0.as_u16())]
    Status(StatusCode),
    #[error("a header of the message is none that HTTP can carry here")]
    Header,
    #[error("this machine's clock is before 1970")]
    Clock,
}

impl WebhookPublisher {
    /// A publisher that posts to this URL.
    ///
    /// # Errors
    ///
    /// The URL is not one of `http` or `https`, or [`with_client`](Self::with_client) fails.
    pub fn new(url: &str) -> Result<Self, WebhookError> {
        Self::with_client(url, Client::builder())
    }

    /// The same with an HTTP client of the application's making: proxies, certificates, connections. That
    /// it follows no redirects is not up to it.
    ///
    /// # Errors
    ///
    /// The URL is not one of `http` or `https`, or there can be no such client.
    pub fn with_client(url: &str, client: ClientBuilder) -> Result<Self, WebhookError> {
        let url: Url = url.parse().map_err(|_| WebhookError::Url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebhookError::Url);
        }
        let client = client.redirect(redirect::Policy::none());
        Ok(Self {
            client: client.build().map_err(WebhookError::Client)?,
            url,
            secrets: Vec::new(),
            timeout: TIMEOUT,
        })
    }

    /// Signs with this secret: base64 of 24 to 64 bytes, after `whsec_` or not. Called more than once, there
    /// is one signature for each, so that the other side can change from one to the next.
    ///
    /// # Errors
    ///
    /// It is no such secret.
    pub fn secret(mut self, secret: &str) -> Result<Self, InvalidSecret> {
        self.secrets.push(secret.parse()?);
        Ok(self)
    }

    /// How long one attempt may take, the answer's body included; 10 seconds unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What the message says, and over it what we say.
    fn headers(&self, message: &OutboxMessage) -> Result<HeaderMap, Refused> {
        let mut headers = HeaderMap::new();
        for (name, value) in message.headers() {
            let name: HeaderName = name.parse().map_err(|_| Refused::Header)?;
            if FRAMING.contains(&name) {
                return Err(Refused::Header);
            }
            headers.append(name, value_of(value)?);
        }
        if let Some(media) = message.content_type() {
            headers.insert(CONTENT_TYPE, value_of(media)?);
        }
        let id = message.id().to_string();
        headers.insert(IDEMPOTENCY_KEY, value_of(&format!("\"{id}\""))?);
        headers.insert(ID, value_of(&id)?);
        for ours in [TIMESTAMP, SIGNATURE] {
            headers.remove(ours);
        }
        if !self.secrets.is_empty() {
            let now = SystemTime::UNIX_EPOCH.elapsed();
            let now = now.map_err(|_| Refused::Clock)?.as_secs();
            let signatures = signature::of(&self.secrets, &id, now, message.payload());
            headers.insert(TIMESTAMP, now.into());
            headers.insert(SIGNATURE, value_of(&signatures)?);
        }
        Ok(headers)
    }
}

impl Publisher for WebhookPublisher {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        let headers = self.headers(message).map_err(PublishError::permanent)?;
        let request = self
            .client
            .post(self.url.clone())
            .headers(headers)
            .body(message.payload().clone());
        let answer = async {
            let answer = request.send().await;
            answer.map_err(|error| PublishError::temporary(error.without_url()))
        };
        let start = Instant::now();
        let response = within(self.timeout, answer).await?;
        let verdict = judge(response.status(), response.headers());
        let left = self.timeout.saturating_sub(start.elapsed());
        // The verdict stands, whether the rest comes or not.
        let _ = timeout(left.min(REST_TIMEOUT), read_out(response)).await;
        verdict
    }
}

/// Neither its URL nor a secret.
impl fmt::Debug for WebhookPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookPublisher")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

fn value_of(text: &str) -> Result<HeaderValue, Refused> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| Refused::Header)
}

fn judge(status: StatusCode, headers: &HeaderMap) -> Result<(), PublishError> {
    if status.is_success() {
        return Ok(());
    }
    let is_temporary = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT
                | StatusCode::CONFLICT
                | StatusCode::TOO_EARLY
                | StatusCode::TOO_MANY_REQUESTS
        );
    let refused = Refused::Status(status);
    if !is_temporary {
        return Err(PublishError::permanent(refused));
    }
    let error = PublishError::temporary(refused);
    Err(match retry_after(headers) {
        Some(pause) => error.after(pause),
        None => error,
    })
}

/// As seconds or as a date; `None` also for one that is over.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date: HttpDate = value.parse().ok()?;
    SystemTime::from(date)
        .duration_since(SystemTime::now())
        .ok()
}

async fn read_out(mut response: Response) {
    let mut length = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        length += chunk.len();
        if length > REST {
            break;
        }
    }
}
