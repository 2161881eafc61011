//! What a policy means for a client, in words.

use crate::describe::length;
use crate::key::MAX_LENGTH;
use crate::openapi::Contract;
use crate::policy::{ExpiredKeys, IdempotencyPolicy, InFlight, KeyRule, Scope, Store, Unresolved};

/// For the description of an operation.
pub(crate) fn of_operation(contract: &Contract, policy: &IdempotencyPolicy) -> String {
    let mut sentences = vec![
        format!(
            "**Idempotency.** For {retain} after the response, the same request with the same `{key}` gets that response \
             again, with `{replayed}: true`, and is not run again.",
            retain = length(policy.retain.as_millis()),
            key = contract.key_header,
            replayed = contract.replayed_header,
        ),
        scope(policy.scope),
        recorded(policy.store).to_owned(),
        in_flight(policy.in_flight),
        "A key that was used for another request is refused with 422.".to_owned(),
    ];
    if !policy.redact.is_empty() {
        let pointers: Vec<_> = policy
            .redact
            .iter()
            .map(|pointer| format!("`{pointer}`"))
            .collect();
        sentences.push(format!(
            "In a JSON body that is sent again, the value at {} is `\"[redacted]\"`.",
            pointers.join(", "),
        ));
    }
    if policy.expired_keys == ExpiredKeys::Refuse {
        let old =
            "A key that is a UUIDv7, has no record, and is older than that is refused with 410.";
        sentences.push(old.to_owned());
    }
    if policy.key == KeyRule::Optional {
        sentences.push("A request without a key is run each time that it is sent.".to_owned());
    }
    let otherwise = match policy.lease {
        None => {
            "After a response of the operation itself that is not recorded nothing has been done, and the key is unused. After \
             409 and 503 it may have been done: the same request with the same key finds out."
        }
        Some(lease) => unresolved(lease.unresolved),
    };
    sentences.push(otherwise.to_owned());
    sentences.join(" ")
}

fn scope(scope: Scope) -> String {
    match scope {
        Scope::Account => "A key is unique per account.".to_owned(),
        Scope::Endpoint => {
            "A key is unique per method and route, for all callers together.".to_owned()
        }
        Scope::Global => "A key is unique for the whole service and all callers.".to_owned(),
        Scope::Named(name) => format!("A key is unique per `{name}`."),
    }
}

fn recorded(store: Store) -> &'static str {
    match store {
        Store::Final => {
            "Recorded are responses with a status of 2xx, 3xx and 4xx, except 401, 403, 408, 425 and 429."
        }
        Store::Success => "Recorded are responses with a status of 2xx and 3xx.",
        Store::All => "Every response of the operation is recorded.",
    }
}

fn in_flight(rule: InFlight) -> String {
    match rule {
        InFlight::Reject => {
            "While the first request is running, another one gets 409 at once.".to_owned()
        }
        InFlight::Wait(time) => format!(
            "While the first request is running, another one waits up to {} for its response, and then gets 409.",
            length(time.as_millis())
        ),
        InFlight::Accept => {
            "While the first request is running, another one gets 202 and the place where the response will be."
                .to_owned()
        }
    }
}

fn unresolved(rule: Unresolved) -> &'static str {
    match rule {
        Unresolved::Hold => {
            "If it is not known how the first request ended, another one gets 409 until that is known: send it again with \
             the same key, and never with a new one."
        }
        Unresolved::Rerun => {
            "If the first request was interrupted, the next one with the same key completes it: send it again with the \
             same key, and never with a new one."
        }
    }
}

/// For the description of the parameter.
pub(crate) fn of_key(contract: &Contract, policy: &IdempotencyPolicy) -> String {
    let form = match contract.strict_keys {
        true => "An RFC 9651 String (`\"…\"`)",
        false => {
            "An RFC 9651 String (`\"…\"`), or without the quotes visible ASCII other than `\"`, `\\`, `,` and `;`,"
        }
    };
    let needed = match policy.key {
        KeyRule::Required => "",
        KeyRule::Optional => " Without it nothing protects the request from being run again.",
    };
    format!(
        "The client's name for this operation: a new one for each operation, and the same one for each retry. {form} of \
         1 to {MAX_LENGTH} bytes, such as a UUID.{needed}"
    )
}

/// For the header of a replay.
pub(crate) const OF_REPLAYED: &str =
    "`true` if this is the recorded response to an earlier request. Not sent otherwise.";

/// For the answer to a duplicate that is accepted.
pub(crate) const OF_ACCEPTED: &str = "The first request with this key is still running.";

pub(crate) const OF_LOCATION: &str = "Where its response will be.";

pub(crate) const OF_RETRY_AFTER: &str =
    "How many seconds to wait before the request is sent again with the same key.";
