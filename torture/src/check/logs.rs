//! What applications wrote down: no panic that no script asked for, and nothing of a client's.

use super::{Kind, Violation};
use crate::workloads::ACCOUNT;

/// Files in which panics are no news: a script of the test application makes them, or diesel-async does where a
/// statement on SQLite is dropped on a worker of actix (the runtime catches it).
const EXPECTED: [&str; 3] = [
    "idem-testapp/play.rs",
    "idem-testapp/leased/steps.rs",
    "src/sync_connection_wrapper/mod.rs",
];
/// What the test application says when it kills itself: the statement that it was at, with what is bound to it.
const LAST_WORDS: &str = "killed at ";
/// What keys and tenants begin with; a number is behind it.
const NAMES: [&str; 2] = ["key-", "tenant-"];

pub(crate) fn check(app: usize, log: &str) -> Vec<Violation> {
    let found = log.lines().filter_map(|line| {
        let kind = if is_of_a_client(line) {
            Kind::Logged
        } else if is_panic(line) {
            Kind::Panicked
        } else {
            return None;
        };
        Some(Violation {
            kind,
            operation: format!("app {app}"),
            detail: line.into(),
        })
    });
    found.collect()
}

fn is_panic(line: &str) -> bool {
    line.contains("panicked at") && !EXPECTED.iter().any(|file| line.contains(file))
}

fn is_of_a_client(line: &str) -> bool {
    let is_named = |name: &&str| {
        line.match_indices(*name).any(|(at, name)| {
            let behind = line.as_bytes().get(at + name.len());
            behind.is_some_and(u8::is_ascii_digit)
        })
    };
    if line.starts_with(LAST_WORDS) {
        return false;
    }
    line.contains(ACCOUNT) || NAMES.iter().any(is_named)
}
