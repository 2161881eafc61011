//! How scopes are written, and what is digested with them.

use actix_web::HttpMessage;
use actix_web::test::TestRequest;
use futures_util::FutureExt;

use crate::lease::KeptRequest;
use crate::policy::Scope;
use crate::scope::{OperationId, Resolvers};

/// Who is asking, as the application's resolver says it.
struct Caller(String);

/// Two accounts, apart at the first line break: they share a scope exactly if they are the same.
pub fn scope(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some((one, other)) = text.split_once('\n') else {
        return;
    };
    let (Some(first), Some(second)) = (written(one), written(other)) else {
        assert!(one.is_empty() || other.is_empty());
        return;
    };
    assert_eq!(one == other, first == second);
    assert!(first.len() <= "account:".len() + 255 && !first.contains('\0'));
    assert!(is_of(&first, one));
    assert_eq!(is_of(&first, other), one == other);
    // No other text that stands for scope and key together is the same operation.
    let ids =
        [(&*first, other), (&*second, one), (other, &first)].map(|(s, k)| OperationId::new(s, k));
    assert_eq!(ids[0] == ids[1], one == other);
    assert_eq!(ids[0] == ids[2], first == other);
    // The account comes out of it as it went in, or not at all.
    let kept = KeptRequest::read(b"POST /\n\n").expect("a request");
    let request = kept.to_request(&first, "k");
    let resumed = request.extensions().get::<crate::Resumed>().cloned();
    let account = resumed.expect("for whom").account().map(str::to_owned);
    assert!(account.as_deref().is_none_or(|account| account == one));
    assert_eq!(account.is_none(), first.starts_with("account:sha256="));
}

fn resolvers() -> Resolvers {
    let mut resolvers = Resolvers::default();
    resolvers.function(Scope::Account.name(), |request| {
        Some(request.extensions().get::<Caller>()?.0.clone())
    });
    resolvers
}

fn written(account: &str) -> Option<String> {
    let request = TestRequest::post().to_http_request();
    request.extensions_mut().insert(Caller(account.to_owned()));
    let resolved = resolvers().resolve(Scope::Account, &request).now_or_never();
    let scope = resolved.expect("at once").ok().flatten();
    scope.map(|scope| scope.to_string())
}

fn is_of(scope: &str, account: &str) -> bool {
    let request = TestRequest::post().to_http_request();
    request.extensions_mut().insert(Caller(account.to_owned()));
    let is_of = resolvers().is_of(scope, &request).now_or_never();
    is_of.expect("at once").expect("no error")
}
