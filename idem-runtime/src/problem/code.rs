//! The names of our answers, on which a client may branch.
//!
//! Names only.

/// The member `code` of our answers: stable names that a client may branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemCode {
    /// 400: the endpoint requires a key and the request has none.
    KeyMissing,
    /// 400: the key is empty, too long, repeated or malformed.
    KeyInvalid,
    /// 500: protection is not configured, or a safe method reached a protected handler.
    Misconfigured,
    /// 401: nobody knows who is asking.
    ScopeUnresolved,
    /// 413: the body is over the endpoint's limit.
    RequestTooLarge,
    /// 422: the key was used for another request.
    KeyReused,
    /// 410: the key is older than its record would be, and there is none.
    KeyExpired,
    /// 409: the first attempt is still running.
    InFlight,
    /// 409: nobody knows how the first attempt ended (lease mode).
    Unresolved,
    /// 404: the status resource knows no such operation of this caller.
    OperationUnknown,
    /// 503: the store cannot be reached, or the outcome of a COMMIT is unknown.
    StoreUnavailable,
    /// 500 or 504: the handler panicked, timed out, or its transaction failed; all rolled back. In lease
    /// mode nobody knows what the outside world has seen of it.
    HandlerFailed,
    /// 500: the response cannot be stored; all rolled back, save in lease mode.
    ResponseNotStorable,
    /// 500: the operation is recorded, and its record cannot be read: a seal does not verify, or bytes are damaged.
    RecordUnreadable,
}

impl ProblemCode {
    /// The code as it stands in the answer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeyMissing => "idempotency-key-missing",
            Self::KeyInvalid => "idempotency-key-invalid",
            Self::Misconfigured => "idempotency-misconfigured",
            Self::ScopeUnresolved => "idempotency-scope-unresolved",
            Self::RequestTooLarge => "request-too-large",
            Self::KeyReused => "idempotency-key-reused",
            Self::KeyExpired => "idempotency-key-expired",
            Self::InFlight => "idempotency-in-flight",
            Self::Unresolved => "idempotency-unresolved",
            Self::OperationUnknown => "idempotency-operation-unknown",
            Self::StoreUnavailable => "idempotency-store-unavailable",
            Self::HandlerFailed => "handler-failed",
            Self::ResponseNotStorable => "response-not-storable",
            Self::RecordUnreadable => "idempotency-record-unreadable",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::KeyMissing => "Idempotency key missing",
            Self::KeyInvalid => "Idempotency key invalid",
            Self::Misconfigured => "Idempotency misconfigured",
            Self::ScopeUnresolved => "Caller not identified",
            Self::RequestTooLarge => "Request too large",
            Self::KeyReused => "Idempotency key reused",
            Self::KeyExpired => "Idempotency key expired",
            Self::InFlight => "Request in flight",
            Self::Unresolved => "Operation unresolved",
            Self::OperationUnknown => "Operation unknown",
            Self::StoreUnavailable => "Idempotency store unavailable",
            Self::HandlerFailed => "Handler failed",
            Self::ResponseNotStorable => "Response not storable",
            Self::RecordUnreadable => "Record unreadable",
        }
    }

    /// Whether the same request with the same key may be sent again.
    #[must_use]
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::InFlight | Self::Unresolved | Self::StoreUnavailable | Self::HandlerFailed
        )
    }
}
