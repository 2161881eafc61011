//! The accepted request as it is kept with its claim, and the request that a worker makes of it.
//!
//! No SQL.

use actix_http::Request;
use actix_web::http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HOST, HeaderName,
    HeaderValue,
};
use actix_web::http::{Method, Uri};
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpRequest};

use crate::body;
use crate::key::IdempotencyKey;
use crate::operation::Operation;
use crate::policy::Scope;

/// The headers that are always kept, beside the key's own.
pub(crate) const KEPT: [HeaderName; 6] = [
    HOST,
    CONTENT_TYPE,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    ACCEPT,
    ACCEPT_LANGUAGE,
];

/// Says, in a request that the completion worker makes, for whom it was accepted.
///
/// The worker has no token or cookie of the client: an extractor that names the caller has to take
/// the caller from here. Nobody can put this into a request from outside of the process.
///
/// ```
/// use actix_web::HttpRequest;
/// use idem_runtime::Resumed;
///
/// fn account(request: &HttpRequest) -> Option<String> {
///     if let Some(resumed) = Resumed::of(request) {
///         return resumed.account().map(str::to_owned);
///     }
///     // … the session, the token …
/// #   None
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Resumed(IdempotencyKey);

impl Resumed {
    /// What the worker says of this request; nothing in a request of a client.
    #[must_use]
    pub fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().cloned()
    }

    /// The scope of the operation's key, as it stands in the table.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.0.scope
    }

    /// The account that the request was accepted for, as [`Account`](crate::Account) or the
    /// resolver named it. None where the scope is another one, or the account's name was so long that it
    /// was stored as a digest.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        let (name, value) = self.0.scope.split_once(':')?;
        (name == Scope::Account.name() && !value.starts_with("sha256=")).then_some(value)
    }

    pub(crate) fn name(&self) -> IdempotencyKey {
        self.0.clone()
    }
}

/// A request that was accepted and kept.
#[derive(Clone)]
pub struct KeptRequest {
    method: Method,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl std::fmt::Debug for KeptRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeptRequest(..)")
    }
}

impl KeptRequest {
    /// Its method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Its path and query.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The headers that were kept, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.headers.iter().map(|(name, value)| (name, value))
    }

    /// Its body as the wire sent it.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Reads what [`write`] has written.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let (head, body) = (bytes.get(..end)?, bytes.get(end + 2..)?);
        let mut lines = head.split(|byte| *byte == b'\n');
        let (method, uri) = cut(lines.next()?, b" ")?;
        let headers = lines.map(|line| {
            let (name, value) = cut(line, b": ")?;
            let name = HeaderName::from_bytes(name).ok()?;
            Some((name, HeaderValue::from_bytes(value).ok()?))
        });
        Some(Self {
            method: Method::from_bytes(method).ok()?,
            uri: Uri::try_from(uri).ok()?,
            headers: headers.collect::<Option<_>>()?,
            body: Bytes::copy_from_slice(body),
        })
    }

    /// The request for the application's own service.
    pub(crate) fn to_request(&self, scope: &str, key: &str) -> Request {
        let mut request = Request::with_payload(body::again(&self.body));
        let head = request.head_mut();
        head.method = self.method.clone();
        head.uri = self.uri.clone();
        for (name, value) in &self.headers {
            head.headers.append(name.clone(), value.clone());
        }
        request
            .extensions_mut()
            .insert(Resumed(IdempotencyKey::new(scope, key)));
        request
    }
}

fn cut<'a>(bytes: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes
        .windows(separator.len())
        .position(|window| window == separator)?;
    Some((bytes.get(..at)?, bytes.get(at + separator.len()..)?))
}

/// The request of this operation: method and path, the headers that are kept, an empty line, the body.
pub(super) fn write<C>(operation: &Operation<C>) -> Bytes {
    let request = &operation.request;
    let kept = &operation.settings.kept_headers;
    let mut bytes = Vec::with_capacity(512 + operation.body.len());
    let target = request
        .uri()
        .path_and_query()
        .map_or("/", |target| target.as_str());
    bytes.extend_from_slice(request.method().as_str().as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(target.as_bytes());
    bytes.push(b'\n');
    for (name, value) in request.headers() {
        if kept.contains(name) {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(b'\n');
        }
    }
    bytes.push(b'\n');
    bytes.extend_from_slice(&operation.body);
    bytes.into()
}
