//! All policies as a table for people and as JSON for programs.
//!
//! Words only: what they mean is said in `policy.rs`.

use std::fmt::Write;

use serde::Serialize;

use crate::described::Described;
use crate::policy::{
    BodyForm, ExpiredKeys, IdempotencyPolicy, InFlight, Isolation, KeyRule, Resume, Store,
    Unresolved, policies,
};

/// What every protected endpoint of this program declares, sorted by handler.
///
/// [`to_markdown`](Description::to_markdown) is a table for people. For programs it is [`Serialize`]: an object whose
/// member `policies` is a list of objects with these members. Their names stay; others may come.
///
/// | member | |
/// |---|---|
/// | `handler` | the handler's path in the program |
/// | `endpoints` | method and route, as `#[utoipa::path]` on the handler says, without what the application nests it under; empty without that, or without the feature `openapi` |
/// | `mode` | `"transaction"` or `"lease"` |
/// | `key` | `"required"` or `"optional"` |
/// | `scope` | `"account"`, `"endpoint"`, `"global"`, or the application's own name |
/// | `retain_ms` | how long a recorded response is honoured, in milliseconds |
/// | `store` | `"final"`, `"success"` or `"all"` |
/// | `in_flight` | `"reject"`, `"wait"` or `"accept"` |
/// | `wait_ms` | for `"wait"`: how long |
/// | `expired_keys` | `"run"` or `"refuse"` |
/// | `fingerprint` | `"json"` or `"raw"` |
/// | `body_limit` | the largest request body, in bytes |
/// | `redact` | where values stand in a JSON body that a replay has not, as JSON pointers; if there are any |
/// | `unresolved` | lease mode: `"hold"` or `"rerun"` |
/// | `response_limit` | the largest response body that can be recorded, in bytes |
/// | `timeout_ms` | how long one run of the handler may take |
/// | `isolation` | `"read committed"`, `"repeatable read"` or `"serializable"`, if it is declared |
/// | `retries` | how often the operation is run again |
/// | `lease_ms`, `resume` | lease mode: the length of the lease; `"client"` or `"background"` |
///
/// # Examples
///
/// ```
/// let description = idem_runtime::describe();
/// println!("{}", description.to_markdown());
/// println!("{}", serde_json::to_string_pretty(&description)?);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn describe() -> Description {
    Description {
        policies: policies().into_iter().map(Entry::of).collect(),
    }
}

/// What [`describe`] has found.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    policies: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize)]
struct Entry {
    handler: &'static str,
    endpoints: Vec<String>,
    #[serde(flatten)]
    terms: Terms,
    #[serde(flatten)]
    workings: Workings,
}

/// What a client has to know of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Terms {
    mode: &'static str,
    key: &'static str,
    scope: &'static str,
    retain_ms: u128,
    store: &'static str,
    in_flight: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u128>,
    expired_keys: &'static str,
    fingerprint: &'static str,
    body_limit: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    redact: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    unresolved: Option<&'static str>,
}

/// The rest, which is for whoever runs the service.
#[derive(Debug, Clone, Serialize)]
struct Workings {
    response_limit: usize,
    timeout_ms: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<&'static str>,
    retries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<&'static str>,
}

impl Entry {
    fn of(policy: &'static IdempotencyPolicy) -> Self {
        Self {
            handler: policy.handler,
            endpoints: Described::of(policy)
                .map(|described| described.endpoints())
                .unwrap_or_default(),
            terms: Terms::of(policy),
            workings: Workings {
                response_limit: policy.response_limit,
                timeout_ms: policy.timeout.as_millis(),
                isolation: policy.isolation.map(|isolation| match isolation {
                    Isolation::ReadCommitted => "read committed",
                    Isolation::RepeatableRead => "repeatable read",
                    Isolation::Serializable => "serializable",
                }),
                retries: policy.retries,
                lease_ms: policy.lease.map(|lease| lease.length.as_millis()),
                resume: policy.lease.map(|lease| match lease.resume {
                    Resume::Client => "client",
                    Resume::Background => "background",
                }),
            },
        }
    }
}

impl Terms {
    pub(crate) fn of(policy: &'static IdempotencyPolicy) -> Self {
        let (in_flight, wait) = match policy.in_flight {
            InFlight::Reject => ("reject", None),
            InFlight::Wait(time) => ("wait", Some(time)),
            InFlight::Accept => ("accept", None),
        };
        Self {
            mode: match policy.lease {
                None => "transaction",
                Some(_) => "lease",
            },
            key: match policy.key {
                KeyRule::Required => "required",
                KeyRule::Optional => "optional",
            },
            scope: policy.scope.name(),
            retain_ms: policy.retain.as_millis(),
            store: match policy.store {
                Store::Final => "final",
                Store::Success => "success",
                Store::All => "all",
            },
            in_flight,
            wait_ms: wait.map(|time| time.as_millis()),
            expired_keys: match policy.expired_keys {
                ExpiredKeys::Run => "run",
                ExpiredKeys::Refuse => "refuse",
            },
            fingerprint: match policy.fingerprint {
                BodyForm::Json => "json",
                BodyForm::Raw => "raw",
            },
            body_limit: policy.body_limit,
            redact: policy.redact,
            unresolved: policy.lease.map(|lease| match lease.unresolved {
                Unresolved::Hold => "hold",
                Unresolved::Rerun => "rerun",
            }),
        }
    }
}

impl Description {
    /// A table in Markdown, one line for each endpoint.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut table = String::from(
            "| endpoint | handler | mode | scope | key | retain | store | in flight | largest body | largest response | timeout |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for policy in &self.policies {
            // A String takes all that is written.
            let _ = writeln!(table, "{}", policy.line());
        }
        table
    }
}

impl Entry {
    fn line(&self) -> String {
        let (terms, workings) = (&self.terms, &self.workings);
        let mode = match (workings.lease_ms, terms.unresolved) {
            (Some(lease), Some(unresolved)) => {
                format!("{} of {}, {unresolved}", terms.mode, length(lease))
            }
            _ => terms.mode.to_owned(),
        };
        let in_flight = match terms.wait_ms {
            Some(wait) => format!("{} {}", terms.in_flight, length(wait)),
            None => terms.in_flight.to_owned(),
        };
        let cells = [
            self.endpoints.join(", "),
            format!("`{}`", self.handler),
            mode,
            terms.scope.to_owned(),
            terms.key.to_owned(),
            length(terms.retain_ms),
            terms.store.to_owned(),
            in_flight,
            size(terms.body_limit),
            size(workings.response_limit),
            length(workings.timeout_ms),
        ];
        format!("| {} |", cells.join(" | "))
    }
}

/// A length of time in words, exactly.
pub(crate) fn length(mut milliseconds: u128) -> String {
    let mut words = Vec::new();
    for (unit, name) in [
        (86_400_000, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1_000, "second"),
        (1, "millisecond"),
    ] {
        let count = milliseconds / unit;
        milliseconds %= unit;
        match count {
            0 => {}
            1 => words.push(format!("1 {name}")),
            _ => words.push(format!("{count} {name}s")),
        }
    }
    words.join(" ")
}

/// In the largest unit that leaves no rest.
fn size(bytes: usize) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.iter().find(|(unit, _)| bytes.is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact() {
        assert_eq!(length(72 * 3_600_000), "3 days");
        assert_eq!(length(90 * 60_000), "1 hour 30 minutes");
        assert_eq!(length(86_400_000 + 1), "1 day 1 millisecond");
        assert_eq!(length(61_500), "1 minute 1 second 500 milliseconds");
    }

    #[test]
    fn sizes_are_exact() {
        assert_eq!(size(2 << 20), "2 MiB");
        assert_eq!(size(1536), "1536 bytes");
        assert_eq!(size(64 << 10), "64 KiB");
    }
}
