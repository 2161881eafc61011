//! The options whose values are words: their meanings, and the words for them.
//!
//! Never knows another option, or the function.

use std::time::Duration;

use crate::duration;
use crate::value::Value;

/// What holds the claim while the handler runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Transaction,
    Lease,
}

/// The namespace in which a key is unique.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scope {
    Account,
    Endpoint,
    Global,
    /// One that the application resolves under this name.
    Named(String),
}

/// Which responses are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Store {
    Final,
    Success,
    All,
}

/// What a duplicate gets while the first attempt is running.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum InFlight {
    Reject,
    Wait(Duration),
    Accept,
}

/// Whether a request without a key is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum KeyRule {
    Required,
    Optional,
}

/// What becomes of a key that is older than its record would be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ExpiredKeys {
    Run,
    Refuse,
}

/// How the body goes into the fingerprint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BodyForm {
    Json,
    Raw,
}

/// The isolation level of the handler's transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// What a retry may do when the lease has run out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unresolved {
    Hold,
    Rerun,
}

/// Who drives a stranded operation to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Resume {
    Client,
    Background,
}

pub(crate) fn mode(value: &Value) -> syn::Result<Mode> {
    value.choice(&[("transaction", Mode::Transaction), ("lease", Mode::Lease)])
}

pub(crate) fn scope(value: &Value) -> syn::Result<Scope> {
    let name = value.text()?;
    match name.as_str() {
        "account" => Ok(Scope::Account),
        "endpoint" => Ok(Scope::Endpoint),
        "global" => Ok(Scope::Global),
        _ if is_scope_name(&name) => Ok(Scope::Named(name)),
        _ => Err(value.refuse(format_args!(
            "does not know \"{name}\": write \"account\", \"endpoint\", \"global\" or the name of a \
             scope of your application, such as \"{}\" (a letter, then letters, digits, `_` and `-`, \
             all in lower case)",
            Some(name.trim().to_lowercase().replace(' ', "_"))
                .filter(|name| is_scope_name(name))
                .as_deref()
                .unwrap_or("tenant"),
        ))),
    }
}

fn is_scope_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

pub(crate) fn store(value: &Value) -> syn::Result<Store> {
    value.choice(&[
        ("final", Store::Final),
        ("success", Store::Success),
        ("all", Store::All),
    ])
}

pub(crate) fn in_flight(value: &Value) -> syn::Result<InFlight> {
    let text = value.text()?;
    match text.split_once(char::is_whitespace) {
        Some(("wait", length)) => duration::parse(length)
            .map(InFlight::Wait)
            .map_err(|why| value.refuse(format_args!("waits for a time that {why}"))),
        None if text == "reject" => Ok(InFlight::Reject),
        None if text == "accept" => Ok(InFlight::Accept),
        None if text == "wait" => {
            Err(value.refuse("does not say how long to wait: write \"wait 2s\""))
        }
        _ => Err(value.refuse(format_args!(
            "does not know \"{text}\": write \"reject\", \"accept\", or \"wait\" and a duration, such as \"wait 2s\""
        ))),
    }
}

pub(crate) fn key(value: &Value) -> syn::Result<KeyRule> {
    value.choice(&[
        ("required", KeyRule::Required),
        ("optional", KeyRule::Optional),
    ])
}

pub(crate) fn expired_keys(value: &Value) -> syn::Result<ExpiredKeys> {
    value.choice(&[("run", ExpiredKeys::Run), ("refuse", ExpiredKeys::Refuse)])
}

pub(crate) fn fingerprint(value: &Value) -> syn::Result<BodyForm> {
    value.choice(&[("json", BodyForm::Json), ("raw", BodyForm::Raw)])
}

pub(crate) fn isolation(value: &Value) -> syn::Result<Isolation> {
    value.choice(&[
        ("read committed", Isolation::ReadCommitted),
        ("repeatable read", Isolation::RepeatableRead),
        ("serializable", Isolation::Serializable),
    ])
}

pub(crate) fn retries(value: &Value) -> syn::Result<u32> {
    value.number(0, 10)
}

pub(crate) fn unresolved(value: &Value) -> syn::Result<Unresolved> {
    value.choice(&[("hold", Unresolved::Hold), ("rerun", Unresolved::Rerun)])
}

pub(crate) fn resume(value: &Value) -> syn::Result<Resume> {
    value.choice(&[
        ("client", Resume::Client),
        ("background", Resume::Background),
    ])
}
