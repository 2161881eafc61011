//! The namespace of a key: how it is resolved for a request, written, and digested with the key.
//!
//! Nothing here touches a body or a database.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::{Error, FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use sha2::{Digest, Sha256};

use crate::defects::{Defect, is_seeded};
use crate::digest::part;
use crate::policy::Scope;

/// A longer scope value is replaced by its digest, in bytes.
const MAX_LENGTH: usize = 255;

/// The authenticated identity whose keys are kept apart from everybody else's.
///
/// Implement it for the extractor that names the caller, and give that to
/// [`Builder::account`](crate::Builder::account).
pub trait Account {
    /// The account's stable identifier: the same for every session and token of one account, never
    /// the same for two. An empty one counts as no identity.
    fn account(&self) -> String;
}

/// What a resolver says of a request: the scope's value, nothing, or an error with its own answer.
type Resolved = LocalBoxFuture<'static, Result<Option<String>, Error>>;
type Resolver = Arc<dyn Fn(&HttpRequest) -> Resolved + Send + Sync>;

/// Who resolves which scope.
#[derive(Clone, Default)]
pub(crate) struct Resolvers(HashMap<&'static str, Resolver>);

impl Resolvers {
    pub(crate) fn extractor<T: FromRequest + Account + 'static>(&mut self, name: &'static str) {
        self.0.insert(
            name,
            Arc::new(|request| {
                let identity = T::from_request(request, &mut Payload::None);
                Box::pin(async move {
                    identity
                        .await
                        .map(|identity| Some(identity.account()))
                        .map_err(Into::into)
                })
            }),
        );
    }

    pub(crate) fn function(
        &mut self,
        name: &'static str,
        resolve: impl Fn(&HttpRequest) -> Option<String> + Send + Sync + 'static,
    ) {
        self.0.insert(
            name,
            Arc::new(move |request| Box::pin(std::future::ready(Ok(resolve(request))))),
        );
    }

    /// Whether somebody resolves this scope.
    pub(crate) fn know(&self, scope: Scope) -> bool {
        matches!(scope, Scope::Endpoint | Scope::Global) || self.0.contains_key(scope.name())
    }

    /// The scope as it is stored; `None` where nobody knows who is asking.
    pub(crate) async fn resolve(
        &self,
        scope: Scope,
        request: &HttpRequest,
    ) -> Result<Option<Arc<str>>, Error> {
        let value = match scope {
            Scope::Global => return Ok(Some(Scope::Global.name().into())),
            Scope::Endpoint => Some(Endpoint::of(request).name),
            Scope::Account | Scope::Named(_) => match self.0.get(scope.name()) {
                Some(resolver) => resolver(request).await?,
                None => None,
            },
        };
        Ok(value
            .filter(|value| !value.is_empty())
            .map(|value| written(scope.name(), &value)))
    }
}

impl Resolvers {
    /// Whether the caller of this request is the one whose operations are in this scope.
    pub(crate) async fn is_of(&self, scope: &str, request: &HttpRequest) -> Result<bool, Error> {
        let Some((name, _)) = scope.split_once(':') else {
            return Ok(false);
        };
        let Some(resolver) = self.0.get(name) else {
            return Ok(false);
        };
        let value = resolver(request).await?;
        Ok(value.is_some_and(|value| !value.is_empty() && *written(name, &value) == *scope))
    }
}

/// Those methods that are names. Others are whatever a client writes.
const METHODS: [Method; 9] = [
    Method::CONNECT,
    Method::DELETE,
    Method::GET,
    Method::HEAD,
    Method::OPTIONS,
    Method::PATCH,
    Method::POST,
    Method::PUT,
    Method::TRACE,
];

/// Method and route, which survive a handler's renaming.
pub(crate) struct Endpoint {
    pub(crate) name: String,
    /// Whether the client has only chosen among the application's routes and the known methods.
    pub(crate) is_known: bool,
}

impl Endpoint {
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let (method, route) = (request.method(), request.match_pattern());
        let is_known = route.is_some() && is_a_name(method);
        let name = match route {
            Some(route) => format!("{method} {route}"),
            None => format!("{method} {}", request.path()),
        };
        Self { name, is_known }
    }

    /// As metrics, log lines and rows name it: what a client can choose freely is in none of them.
    pub(crate) fn shown(&self) -> &str {
        match self.is_known {
            true => &self.name,
            false => "*",
        }
    }
}

/// Whether a client has only chosen among those.
pub(crate) fn is_a_name(method: &Method) -> bool {
    METHODS.contains(method)
}

/// `name:value`. No name holds a colon, so that no two pairs are written alike. A value that is
/// long, or that a text column cannot hold, is replaced by its digest.
fn written(name: &str, value: &str) -> Arc<str> {
    if value.len() <= MAX_LENGTH && !value.contains('\0') && !value.starts_with("sha256=") {
        format!("{name}:{value}").into()
    } else {
        format!("{name}:sha256={}", hex::encode(Sha256::digest(value))).into()
    }
}

/// What scope and key are called in the database: the row's primary key, and the advisory lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OperationId {
    /// The primary key: the first half of SHA-256 over the length-prefixed scope and key.
    pub(crate) row: [u8; 16],
    /// The number of the key's advisory lock, from the second half.
    pub(crate) lock: i64,
}

impl OperationId {
    pub(crate) fn new(scope: &str, key: &str) -> Self {
        let scope = match is_seeded(Defect::ScopeLeftOut) {
            true => "",
            false => scope,
        };
        let mut hash = Sha256::new();
        for bytes in ["idem:key:1", scope, key] {
            part(&mut hash, bytes.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let (row, rest) = digest.split_at(16);
        let mut id = Self {
            row: [0; 16],
            lock: 0,
        };
        id.row.copy_from_slice(row);
        id.lock = lock_number(rest);
        id
    }

    /// The number of the advisory lock on this scope and key together with a fingerprint.
    pub(crate) fn fingerprint_lock(&self, fingerprint: &[u8]) -> i64 {
        let mut hash = Sha256::new();
        part(&mut hash, b"idem:lock:1");
        part(&mut hash, &self.row);
        part(&mut hash, fingerprint);
        lock_number(&hash.finalize())
    }
}

/// The number of an advisory lock, from the first eight bytes of a digest.
pub(crate) fn lock_number(digest: &[u8]) -> i64 {
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// Without a route too; where there are routes, real requests show it.
    #[test]
    fn an_endpoint_is_known_by_its_route_and_its_method() {
        let request = TestRequest::post().uri("/orders/1").to_http_request();
        let endpoint = Endpoint::of(&request);
        assert_eq!((&*endpoint.name, endpoint.shown()), ("POST /orders/1", "*"));
    }

    #[test]
    fn parts_that_hold_the_separator_do_not_collide() {
        assert_ne!(OperationId::new("a:b", "c"), OperationId::new("a", "b:c"));
        assert_ne!(OperationId::new("ab", "c"), OperationId::new("a", "bc"));
        assert_ne!(written("a", "b:c"), written("a:b", "c:d"));
    }

    #[test]
    fn keys_are_case_sensitive() {
        assert_ne!(OperationId::new("s", "Abc"), OperationId::new("s", "abc"));
        assert_ne!(OperationId::new("s", "k "), OperationId::new("s", "k"));
    }

    #[test]
    fn a_long_value_is_digested_and_cannot_be_forged() {
        let long = "x".repeat(256);
        let digested = written("account", &long);
        assert_eq!(digested.len(), "account:sha256=".len() + 64);
        let forged = digested.trim_start_matches("account:");
        assert_ne!(written("account", forged), digested);
    }

    #[test]
    fn the_lock_on_a_fingerprint_contains_scope_and_key() {
        let one = OperationId::new("s", "k1").fingerprint_lock(b"same body");
        let other = OperationId::new("s", "k2").fingerprint_lock(b"same body");
        assert_ne!(one, other);
    }
}
