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
use crate::operation::{Chain, Keyed, Operation};
use crate::policy::Scope;
use crate::problem::Problem;
use crate::store::Backend;

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

    /// Reads what [`written`] has written.
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

/// The request of this operation, with the headers that are kept, as it is stored.
pub(super) fn write<C: Backend>(operation: &Operation<C>, keyed: &Keyed) -> Result<Bytes, Problem> {
    let request = &operation.request;
    let kept = &operation.settings.kept_headers;
    let headers = request.headers().iter();
    let written = written(
        request.method(),
        request.uri(),
        headers.filter(|(name, _)| kept.contains(name)),
        &operation.body,
    );
    let packing = &operation.settings.packing;
    let packed = packing.pack_request(keyed.context(), written);
    packed.map_err(|error| {
        tracing::error!(endpoint = operation.endpoint, error = %Chain(&error), "request not sealed");
        Problem::store_unavailable()
    })
}

/// Method and path, the headers, an empty line, the body.
pub(crate) fn written<'a>(
    method: &Method,
    uri: &Uri,
    headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    body: &[u8],
) -> Bytes {
    let mut bytes = Vec::with_capacity(512 + body.len());
    // A client may name the host here, and no path behind it: only the displayed form begins with one.
    let target = uri.path_and_query().map(ToString::to_string);
    bytes.extend_from_slice(method.as_str().as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(target.as_deref().unwrap_or("/").as_bytes());
    bytes.push(b'\n');
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
    bytes.extend_from_slice(body);
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_target_is_kept_as_one_that_can_be_read() {
        for (target, kept) in [
            ("/orders?x=1", "/orders?x=1"),
            ("http://shop.example/orders", "/orders"),
            ("http://shop.example?x=1", "/?x=1"),
            ("http://shop.example", "/"),
        ] {
            let uri: Uri = target.parse().unwrap();
            let written = written(&Method::POST, &uri, std::iter::empty(), b"body");
            let read = KeptRequest::read(&written).unwrap_or_else(|| panic!("{target}"));
            assert_eq!(
                (read.uri(), read.body()),
                (&kept.parse().unwrap(), &b"body"[..])
            );
        }
    }
}
