//! Every option, read from its text.

use std::time::Duration;

use proc_macro2::TokenStream;

use crate::args::{self, Args, Written};
use crate::choices::{
    BodyForm, ExpiredKeys, InFlight, Isolation, KeyRule, Mode, Resume, Scope, Store, Unresolved,
};
use crate::problems::Problems;

fn parse(text: &str) -> Args {
    let tokens: TokenStream = text.parse().unwrap_or_default();
    let mut problems = Problems::default();
    let args = args::parse(tokens, &mut problems);
    assert!(problems.is_empty(), "{text} is refused");
    args
}

fn value<T>(option: Option<Written<T>>) -> Option<T> {
    option.map(|written| written.value)
}

#[test]
fn nothing_is_said_by_an_empty_attribute() {
    let args = parse("");
    assert!(args.scope.is_none() && args.retain.is_none() && args.store.is_none());
    assert!(args.in_flight.is_none() && args.key.is_none() && args.fingerprint.is_none());
    assert!(args.body_limit.is_none() && args.response_limit.is_none());
    assert!(args.timeout.is_none() && args.isolation.is_none() && args.retries.is_none());
    assert!(args.expired_keys.is_none() && args.redact.is_none());
    assert!(args.mode.is_none() && args.lease.is_none());
    assert!(args.unresolved.is_none() && args.resume.is_none());
}

#[test]
fn a_trailing_comma_is_allowed() {
    assert!(parse(r#"retries = 2, store = "all","#).store.is_some());
}

#[test]
fn scope() {
    let scope = |name: &str| value(parse(&format!("scope = {name:?}")).scope);
    assert_eq!(scope("account"), Some(Scope::Account));
    assert_eq!(scope("endpoint"), Some(Scope::Endpoint));
    assert_eq!(scope("global"), Some(Scope::Global));
    for name in ["tenant", "t", "tenant-2", "tenant_user"] {
        assert_eq!(scope(name), Some(Scope::Named(name.to_owned())));
    }
}

#[test]
fn retain_and_timeout() {
    let args = parse(r#"retain = "7 days", timeout = "1m 30s""#);
    assert_eq!(value(args.retain), Some(Duration::from_secs(604_800)));
    assert_eq!(value(args.timeout), Some(Duration::from_secs(90)));
    assert_eq!(
        value(parse(r##"retain = r#"24h"#"##).retain),
        Some(Duration::from_secs(86_400))
    );
}

#[test]
fn store() {
    let store = |name: &str| value(parse(&format!("store = {name:?}")).store);
    assert_eq!(store("final"), Some(Store::Final));
    assert_eq!(store("success"), Some(Store::Success));
    assert_eq!(store("all"), Some(Store::All));
}

#[test]
fn in_flight() {
    let in_flight = |text: &str| value(parse(&format!("in_flight = {text:?}")).in_flight);
    let wait = |seconds| Some(InFlight::Wait(Duration::from_secs(seconds)));
    assert_eq!(in_flight("reject"), Some(InFlight::Reject));
    assert_eq!(in_flight("accept"), Some(InFlight::Accept));
    assert_eq!(in_flight("wait 3s"), wait(3));
    assert_eq!(in_flight("wait  1m 1s"), wait(61));
}

#[test]
fn key_and_fingerprint() {
    assert_eq!(
        value(parse(r#"key = "required""#).key),
        Some(KeyRule::Required)
    );
    assert_eq!(
        value(parse(r#"key = "optional""#).key),
        Some(KeyRule::Optional)
    );
    let fingerprint = |name: &str| value(parse(&format!("fingerprint = {name:?}")).fingerprint);
    assert_eq!(fingerprint("json"), Some(BodyForm::Json));
    assert_eq!(fingerprint("raw"), Some(BodyForm::Raw));
}

#[test]
fn redact() {
    let redact = |text: &str| value(parse(&format!("redact = {text}")).redact);
    let one = vec!["/card/number".to_owned()];
    assert_eq!(redact(r#"["/card/number"]"#), Some(one));
    let two = vec!["/a".to_owned(), "/b~1c/0".to_owned()];
    assert_eq!(redact(r#"["/a", "/b~1c/0",]"#), Some(two));
}

#[test]
fn expired_keys() {
    let expired_keys = |text: &str| value(parse(&format!("expired_keys = {text:?}")).expired_keys);
    assert_eq!(expired_keys("run"), Some(ExpiredKeys::Run));
    assert_eq!(expired_keys("refuse"), Some(ExpiredKeys::Refuse));
}

#[test]
fn limits() {
    let args = parse(r#"body_limit = "64KiB", response_limit = "1 MB""#);
    assert_eq!(value(args.body_limit), Some(65_536));
    assert_eq!(value(args.response_limit), Some(1_000_000));
}

#[test]
fn isolation() {
    let isolation = |name: &str| value(parse(&format!("isolation = {name:?}")).isolation);
    assert_eq!(isolation("read committed"), Some(Isolation::ReadCommitted));
    assert_eq!(
        isolation("repeatable read"),
        Some(Isolation::RepeatableRead)
    );
    assert_eq!(isolation("serializable"), Some(Isolation::Serializable));
}

#[test]
fn retries() {
    assert_eq!(value(parse("retries = 0").retries), Some(0));
    assert_eq!(value(parse("retries = 10").retries), Some(10));
}

#[test]
fn mode() {
    let mode = |name: &str| value(parse(&format!("mode = {name:?}")).mode);
    assert_eq!(mode("transaction"), Some(Mode::Transaction));
    assert_eq!(mode("lease"), Some(Mode::Lease));
}

#[test]
fn lease() {
    let args = parse(r#"lease = "1m 30s""#);
    assert_eq!(value(args.lease), Some(Duration::from_secs(90)));
}

#[test]
fn unresolved_and_resume() {
    let unresolved = |name: &str| value(parse(&format!("unresolved = {name:?}")).unresolved);
    assert_eq!(unresolved("hold"), Some(Unresolved::Hold));
    assert_eq!(unresolved("rerun"), Some(Unresolved::Rerun));
    let resume = |name: &str| value(parse(&format!("resume = {name:?}")).resume);
    assert_eq!(resume("client"), Some(Resume::Client));
    assert_eq!(resume("background"), Some(Resume::Background));
}

#[test]
fn an_option_that_is_refused_could_not_be_read() {
    let could_not_read = |text: &str, option| {
        let tokens: TokenStream = text.parse().unwrap_or_default();
        args::parse(tokens, &mut Problems::default()).could_not_read(option)
    };
    for text in [
        "mode = \"rent\"",
        "mode",
        "mode(lease)",
        "mdoe = \"lease\"",
        "r#mode = 1",
    ] {
        assert!(could_not_read(text, "mode"), "{text}");
        assert!(!could_not_read(text, "lease"), "{text}");
    }
    assert!(!could_not_read(
        "mode = \"lease\", retian = \"24h\"",
        "mode"
    ));
}

/// A literal that comes out of a `macro_rules!` macro stands in an invisible group.
#[test]
fn a_value_in_an_invisible_group_is_seen_through() {
    use proc_macro2::{Delimiter, Group, TokenTree};
    let literal: TokenStream = "\"all\"".parse().unwrap_or_default();
    let group = TokenTree::Group(Group::new(Delimiter::None, literal));
    let mut problems = Problems::default();
    let args = args::parse(quote::quote!(store = #group), &mut problems);
    assert!(problems.is_empty());
    assert_eq!(value(args.store), Some(Store::All));
}
