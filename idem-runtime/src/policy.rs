//! What one endpoint declared in its `#[idempotent]` attribute, and the list of all of them.
//!
//! Pure values. Nothing here reads a request, a clock or a database.

use std::any::TypeId;
use std::time::Duration;

use crate::described::Described;

/// What one endpoint declared in its `#[idempotent(..)]` attribute.
///
/// The attribute makes one for each protected handler and registers it; [`policies`] lists them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IdempotencyPolicy {
    /// The handler's path in the program: module path and function name.
    pub handler: &'static str,
    /// The namespace in which a key is unique.
    pub scope: Scope,
    /// How long a recorded response is honoured, counted from its recording by the database's clock.
    pub retain: Duration,
    /// Which of the handler's responses are recorded.
    pub store: Store,
    /// What a duplicate gets while the first attempt is running.
    pub in_flight: InFlight,
    /// Whether a request without a key is refused.
    pub key: KeyRule,
    /// What becomes of a key that is older than its record would be.
    pub expired_keys: ExpiredKeys,
    /// How the body goes into the fingerprint.
    pub fingerprint: BodyForm,
    /// The largest request body, in bytes.
    pub body_limit: usize,
    /// The largest response body that can be recorded, in bytes.
    pub response_limit: usize,
    /// Where values stand in a JSON body that are left out of what is recorded, as JSON pointers (RFC 6901).
    pub redact: &'static [&'static str],
    /// How long one run of the handler may take, its response body included.
    pub timeout: Duration,
    /// The isolation level of the transaction; `None` takes the database's default.
    pub isolation: Option<Isolation>,
    /// Lease mode, for a handler that calls the outside world; `None` is transaction mode.
    pub lease: Option<LeasePolicy>,
    /// How often the operation is run again after its record or COMMIT was rolled back because of
    /// other transactions, or after the handler answered with [`Retry`](crate::Retry).
    pub retries: u32,
    /// The type of the handler's connection, which names the backend. In lease mode it has none.
    pub(crate) connection: Option<fn() -> TypeId>,
    /// What `#[utoipa::path]` says beside it, if it is known.
    pub(crate) operation: Option<fn() -> Described>,
}

/// What an endpoint in lease mode declared of its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeasePolicy {
    /// How long the claim is trusted without a renewal.
    pub length: Duration,
    /// What a retry may do once the lease has run out.
    pub unresolved: Unresolved,
    /// Who drives a stranded operation to its end.
    pub resume: Resume,
}

/// What a retry may do with an operation whose lease has run out, and of which nobody knows how it
/// ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unresolved {
    /// Nothing: it is told 409 until a reconciler or an operator has settled the operation; the default.
    Hold,
    /// Run the handler again. This is the developer's word that every outside call uses a derived key.
    Rerun,
}

/// Who drives a stranded operation to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resume {
    /// The client, with a retry; the default.
    Client,
    /// A worker of the application: the accepted request is kept with its claim.
    Background,
}

/// The namespace in which a key is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// One namespace per authenticated account; the default.
    Account,
    /// One namespace per method and route, shared by all callers.
    Endpoint,
    /// One namespace for everything, shared by all callers.
    Global,
    /// A namespace that the application resolves under this name.
    Named(&'static str),
}

impl Scope {
    /// The scope's name as it stands in the attribute and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Endpoint => "endpoint",
            Self::Global => "global",
            Self::Named(name) => name,
        }
    }
}

/// Which of the handler's responses are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Store {
    /// 2xx, 3xx and 4xx, except 401, 403, 408, 425 and 429; the default.
    Final,
    /// 2xx and 3xx.
    Success,
    /// Every status from 200 that a handler returned.
    All,
}

impl Store {
    /// Whether a response with this status is recorded.
    #[must_use]
    pub fn records(self, status: u16) -> bool {
        match self {
            Self::Final => {
                matches!(status, 200..=499) && !matches!(status, 401 | 403 | 408 | 425 | 429)
            }
            Self::Success => matches!(status, 200..=399),
            Self::All => status >= 200,
        }
    }
}

/// What a duplicate gets while the first attempt is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InFlight {
    /// 409 at once; the default.
    Reject,
    /// The request is held this long without a database connection; then the recorded response, or 409.
    Wait(Duration),
    /// 202 with the `Location` of a status resource.
    Accept,
}

/// Whether a request without a key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyRule {
    /// 400 without a key; the default.
    Required,
    /// Without a key the handler runs in a plain transaction, and nothing is recorded.
    Optional,
}

/// What becomes of a key that says when it was made (a UUIDv7), has no record, and is so old that it
/// may have had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpiredKeys {
    /// It is run, like every key without a record; the default.
    Run,
    /// It is refused with 410: it may be a late retry.
    Refuse,
}

/// How the body goes into the fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyForm {
    /// JSON bodies in canonical form, all others as they are; the default.
    Json,
    /// Every body as it is.
    Raw,
}

/// The isolation level of the handler's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SERIALIZABLE`
    Serializable,
}

/// One registered policy; the attribute submits it to the registry.
#[derive(Debug)]
pub struct Registration(pub &'static IdempotencyPolicy);

inventory::collect!(Registration);

/// All policies of this program, sorted by handler.
#[must_use]
pub fn policies() -> Vec<&'static IdempotencyPolicy> {
    let mut all: Vec<_> = inventory::iter::<Registration>
        .into_iter()
        .map(|registration| registration.0)
        .collect();
    all.sort_by_key(|policy| policy.handler);
    all
}
