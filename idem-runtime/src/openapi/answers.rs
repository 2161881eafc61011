//! The answers of ours that an endpoint with this policy may give.
//!
//! What they say is in `problem.rs`; when they are due, in `run.rs` and the README.

use crate::key::KeyError;
use crate::openapi::Contract;
use crate::policy::{ExpiredKeys, IdempotencyPolicy, InFlight, KeyRule, Scope, Unresolved};
use crate::problem::Problem;

pub(crate) fn answers(contract: &Contract, policy: &IdempotencyPolicy) -> Vec<Problem> {
    let mut answers = Vec::new();
    if policy.key == KeyRule::Required {
        answers.push(Problem::key(KeyError::Missing));
    }
    answers.push(Problem::key(match contract.strict_keys {
        true => KeyError::NotQuoted,
        false => KeyError::Malformed,
    }));
    if matches!(policy.scope, Scope::Account | Scope::Named(_)) {
        answers.push(Problem::scope_unresolved());
    }
    // A duplicate that is accepted gets 202 instead.
    if policy.in_flight != InFlight::Accept {
        answers.push(Problem::in_flight());
    }
    if let Some(lease) = policy.lease {
        answers.push(match lease.unresolved {
            Unresolved::Hold => Problem::unresolved(),
            Unresolved::Rerun => Problem::stranded(),
        });
    }
    if policy.expired_keys == ExpiredKeys::Refuse {
        answers.push(Problem::key_expired());
    }
    answers.extend([
        Problem::request_too_large(policy.body_limit),
        Problem::key_reused(),
        Problem::misconfigured(),
        Problem::store_unavailable(),
    ]);
    let ended = [
        Problem::handler_failed(),
        Problem::response_not_storable(),
        Problem::timed_out(),
    ];
    answers.push(Problem::record_unreadable());
    answers.extend(ended.map(|problem| match policy.lease {
        Some(_) => problem.in_lease_mode(),
        None => problem,
    }));
    answers
}
