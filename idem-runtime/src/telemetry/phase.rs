//! The parts of a request that take time: what is measured of each, and its span.

use tracing::{Span, debug_span};

use super::names;

/// A part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Asking the database about the key.
    Claim,
    /// In lease mode, committing the claim or taking it over.
    Lease,
    /// One run of the handler.
    Handler,
    /// Writing the record, and committing.
    Record,
}

impl Phase {
    pub(super) fn span(self) -> Span {
        match self {
            Self::Claim => debug_span!(names::CLAIM_SPAN),
            Self::Lease => debug_span!(names::LEASE_SPAN),
            Self::Handler => debug_span!(names::HANDLER_SPAN),
            Self::Record => debug_span!(names::RECORD_SPAN),
        }
    }
}
