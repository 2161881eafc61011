//! All checks: what each asks, why, and whose rule it is. What one does is in the file of its kind.

mod bodies;
mod duplicates;
mod failures;
mod keys;
mod replays;
mod scope;
mod slow;

use futures_util::future::LocalBoxFuture;
use serde::Serialize;

use super::trial::{Finding, Trial};

/// How much a rule wants to be kept (RFC 2119). Our contract wants all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Level {
    Must,
    Should,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }
}

/// One check.
pub(super) struct Check {
    pub(super) id: &'static str,
    /// What holds where it is kept.
    pub(super) title: &'static str,
    /// What happens where it is not.
    pub(super) why: &'static str,
    /// Whose rule it is: a section of the draft, or our contract.
    pub(super) source: &'static str,
    /// How much the draft wants it; none where only our contract asks for it.
    pub(super) draft: Option<Level>,
    pub(super) run: for<'a> fn(&'a Trial<'a>) -> LocalBoxFuture<'a, Finding>,
}

/// In the order in which they are made: what others build on comes first.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "new-key",
        title: "another key with the same body is another operation",
        why: "a client that means two orders gets one",
        source: "draft, 2.2; contract",
        draft: Some(Level::Must),
        run: |trial| Box::pin(keys::new_key(trial)),
    },
    Check {
        id: "missing-key",
        title: "a request without a key is refused",
        why: "a client that forgets the key finds out when it is too late",
        source: "draft, 2.7; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(keys::missing(trial)),
    },
    Check {
        id: "malformed-key",
        title: "what is no key is refused",
        why: "two servers, or two versions of one, read different keys in it",
        source: "contract, keys; RFC 9651, 3.3.3",
        draft: None,
        run: |trial| Box::pin(keys::malformed(trial)),
    },
    Check {
        id: "longest-key",
        title: "a key has up to 255 bytes, and all of them count",
        why: "a longer key that is cut off is somebody else's",
        source: "contract, keys",
        draft: None,
        run: |trial| Box::pin(keys::longest(trial)),
    },
    Check {
        id: "quoted-key",
        title: "a key with and without quotes is the same",
        why: "a retry through another client library runs again",
        source: "contract, keys; RFC 9651, 3.3.3",
        draft: None,
        run: |trial| Box::pin(keys::quoted(trial)),
    },
    Check {
        id: "key-case",
        title: "keys that differ in case are different",
        why: "an operation gets the answer of another one, and is not done",
        source: "contract, keys",
        draft: None,
        run: |trial| Box::pin(keys::case(trial)),
    },
    Check {
        id: "retry",
        title: "a retry gets the first answer, and does nothing",
        why: "whoever lost the answer does it twice, or learns something else than what was done",
        source: "draft, 2.6; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(replays::retry(trial)),
    },
    Check {
        id: "replay-marker",
        title: "a replay says that it is one, and a first answer does not",
        why: "nobody can tell a recovered answer from a new effect",
        source: "contract, replays",
        draft: None,
        run: |trial| Box::pin(replays::marker(trial)),
    },
    Check {
        id: "concurrent-duplicates",
        title: "of duplicates at the same moment one runs",
        why: "a double click, or a proxy that retries, does it twice",
        source: "draft, 2.6; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(duplicates::concurrent(trial)),
    },
    Check {
        id: "mismatch",
        title: "a key with another body is refused",
        why: "the second operation gets the answer of the first, and is not done",
        source: "draft, 2.7; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(bodies::mismatch(trial)),
    },
    Check {
        id: "other-query",
        title: "a key with another query is refused",
        why: "another request gets the answer of the first, and is not done",
        source: "contract, fingerprint",
        draft: None,
        run: |trial| Box::pin(bodies::query(trial)),
    },
    Check {
        id: "json-form",
        title: "JSON in another order, with other white space, is the same body",
        why: "a retry that builds its body anew is refused",
        source: "contract, fingerprint",
        draft: None,
        run: |trial| Box::pin(bodies::form(trial)),
    },
    Check {
        id: "json-numbers",
        title: "1 and 1.0 are different bodies",
        why: "numbers that pass through floating point merge, and large amounts with them",
        source: "contract, fingerprint",
        draft: None,
        run: |trial| Box::pin(bodies::numbers(trial)),
    },
    Check {
        id: "foreign-tenant",
        title: "another client's key is another key",
        why: "one client reads the answer of another, or is refused because of it",
        source: "draft, 5; contract, scope",
        draft: Some(Level::Should),
        run: |trial| Box::pin(scope::foreign(trial)),
    },
    Check {
        id: "no-identity",
        title: "without an identity there is no answer from anybody's records",
        why: "whoever guesses a key reads what it answered",
        source: "contract, scope",
        draft: None,
        run: |trial| Box::pin(scope::nobody(trial)),
    },
    Check {
        id: "dropped-client",
        title: "a client that hung up gets its answer, of one operation",
        why: "after the most ordinary failure of all, nobody finds out, or it is done twice",
        source: "draft, 2.6; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(duplicates::dropped(trial)),
    },
    Check {
        id: "broken-upload",
        title: "a request that never arrived whole uses no key",
        why: "the retry is refused for ever, and nothing is done",
        source: "contract, order of checks",
        draft: None,
        run: |trial| Box::pin(failures::upload(trial)),
    },
    Check {
        id: "failure-not-remembered",
        title: "after a 5xx the key is unused",
        why: "a moment's failure is the answer for as long as records are kept",
        source: "contract, what is recorded",
        draft: None,
        run: |trial| Box::pin(failures::remembered(trial)),
    },
    Check {
        id: "in-flight",
        title: "a duplicate of what still runs is told so at once",
        why: "clients wait behind one another until all time out",
        source: "draft, 2.6 and 2.7; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(slow::in_flight(trial)),
    },
    Check {
        id: "mismatch-in-flight",
        title: "a key with another body is refused while the first one runs",
        why: "the second one waits for an answer that is not its own",
        source: "contract",
        draft: None,
        run: |trial| Box::pin(slow::mismatch(trial)),
    },
    Check {
        id: "slow-retried",
        title: "what runs for long is not taken over by its retries",
        why: "a lock or a lease that ends before its work lets a retry do it again",
        source: "draft, 2.6; contract",
        draft: Some(Level::Should),
        run: |trial| Box::pin(slow::retried(trial)),
    },
];
