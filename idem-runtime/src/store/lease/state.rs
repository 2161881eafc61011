//! What is to be known of one row, and what it allows.
//!
//! No SQL of one backend.

use diesel::QueryResult;
use diesel::prelude::Queryable;

use super::{Held, Leases, RELEASED, RERUN};
use crate::policy::Unresolved;
use crate::response::StoredResponse;
use crate::seal::Context;
use crate::store::statement::{Piece, StateQuery, statement};

/// What is to be known of a row besides its record.
#[derive(Debug, Queryable)]
pub struct State {
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) owner: Option<Vec<u8>>,
    /// What the claim said of the case that its lease runs out; NULL is `hold`.
    unresolved: Option<String>,
    /// Whether the lease has run out. Without one it never does.
    pub(crate) ended: bool,
    /// Whether the record, if there is one, is still honoured.
    pub(crate) live: bool,
    /// Whether the accepted request is kept, for a worker to run it again.
    is_kept: bool,
    status: Option<i32>,
    headers: Option<String>,
    body: Option<Vec<u8>>,
}

impl State {
    pub(crate) fn owner(&self) -> Option<[u8; 16]> {
        self.owner.as_deref()?.try_into().ok()
    }

    pub(crate) fn is_of(&self, held: &Held) -> bool {
        self.owner.as_deref() == Some(held.owner.as_bytes())
    }

    /// Whether an ended claim may be taken over, by an endpoint with this rule.
    pub(crate) fn may_rerun(&self, rule: Unresolved) -> bool {
        match self.unresolved.as_deref() {
            Some(RELEASED) => true,
            Some(RERUN) => rule == Unresolved::Rerun,
            _ => false,
        }
    }

    /// Whether somebody is working on it, or will without being asked.
    pub(crate) fn is_going_on(&self) -> bool {
        !self.ended || self.is_kept && self.may_rerun(Unresolved::Rerun)
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.status.is_none()
    }

    /// The recorded response as it is stored, unless the row is pending.
    pub(crate) fn take_response(&mut self) -> Option<StoredResponse> {
        let (status, headers, body) = (self.status?, self.headers.take(), self.body.take());
        Some(StoredResponse::of_columns(status, headers, body))
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            scope: &self.scope,
            key: &self.key,
            fingerprint: &self.fingerprint,
        }
    }
}

/// What is to be known of one row.
pub(crate) async fn state<C: Leases>(
    connection: &mut C,
    id: [u8; 16],
) -> QueryResult<Option<State>> {
    let state = statement![
        "SELECT scope, ",
        Piece::Key,
        ", fingerprint, ",
        Piece::BytesOfId("owner"),
        ", unresolved, coalesce(lease_expires_at <= ",
        Piece::Now,
        ", false), coalesce(status IS NULL OR expires_at > ",
        Piece::Now,
        ", true), request IS NOT NULL, status + 0, headers, body \
         FROM idempotency_keys WHERE id = ",
        id,
    ];
    Ok(C::states(connection, StateQuery(state)).await?.pop())
}
