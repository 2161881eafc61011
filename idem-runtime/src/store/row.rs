//! A row of the table as a claim looks at it, and what it means for the claim.
//!
//! No SQL.

use std::time::Duration;

use diesel::QueryResult;
use diesel::prelude::Queryable;
use diesel::query_builder::AstPass;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};

use super::statement::Dialect;
use super::{Claim, Claimed, Record};
use crate::defects::{Defect, is_seeded};
use crate::response::StoredResponse;

pub(super) type Columns = (
    Text,
    Text,
    Binary,
    Nullable<Integer>,
    Nullable<Text>,
    Nullable<Binary>,
    Bool,
    Nullable<BigInt>,
);

/// The row, if there is one, and the database's clock in milliseconds since 1970.
pub(super) type ColumnsAndClock = (Nullable<Columns>, BigInt);

/// Puts the last column in.
pub(super) fn age<DB: Dialect>(out: &mut AstPass<'_, '_, DB>) {
    let (before, behind) = DB::SINCE;
    for sql in [", ", before, "recorded_at", behind] {
        out.push_sql(sql);
    }
}

#[derive(Queryable)]
pub(super) struct Row {
    scope: String,
    key: String,
    fingerprint: Vec<u8>,
    status: Option<i32>,
    headers: Option<String>,
    body: Option<Vec<u8>>,
    live: bool,
    /// Since it was recorded.
    age_ms: Option<i64>,
}

impl Row {
    fn check(&self, claim: &Claim) -> QueryResult<()> {
        if *self.scope != *claim.scope || *self.key != *claim.key {
            let message = "a row of another scope and key has the same id";
            return Err(Error::DeserializationError(message.into()));
        }
        Ok(())
    }

    /// The record, or that somebody has claimed the key while the row is pending.
    fn claimed(self) -> Claimed {
        let Some(status) = self.status else {
            return Claimed::Pending;
        };
        Claimed::Recorded(Record {
            fingerprint: self.fingerprint,
            response: StoredResponse::of_columns(status, self.headers, self.body),
            // A clock that was set back makes no record younger than new.
            age: Duration::from_millis(
                self.age_ms
                    .unwrap_or_default()
                    .try_into()
                    .unwrap_or_default(),
            ),
        })
    }
}

/// What a claim has seen behind its lock.
pub(super) struct Seen {
    pub(super) row: Option<Row>,
    /// The database's clock, if the claim has a horizon.
    pub(super) now: Option<i64>,
}

impl From<Option<Row>> for Seen {
    fn from(row: Option<Row>) -> Self {
        Self { row, now: None }
    }
}

impl From<(Option<Row>, i64)> for Seen {
    fn from((row, now): (Option<Row>, i64)) -> Self {
        let now = Some(now);
        Self { row, now }
    }
}

/// What a claim has found: the answer of the lock, and what was there behind it. A row outranks a refused
/// lock: another replay may hold that for a moment. Only who has the lock is refused for the key's age: who has
/// not may yet get the record of who has.
pub(super) fn judge(claim: &Claim, locked: Option<bool>, seen: Seen) -> QueryResult<Claimed> {
    let over_expired = match seen.row {
        Some(row) => {
            row.check(claim)?;
            if row.live {
                return Ok(row.claimed());
            }
            true
        }
        None => false,
    };
    let dated = claim.horizon.zip(seen.now);
    let is_too_old = dated.is_some_and(|(horizon, now)| horizon.is_passed(now));
    Ok(match locked {
        _ if is_seeded(Defect::NoLockNoKey) => Claimed::Free { over_expired },
        Some(true) if is_too_old => Claimed::KeyExpired,
        Some(true) => Claimed::Free { over_expired },
        Some(false) => Claimed::KeyHeld,
        None => Claimed::InFlight,
    })
}

/// The record that a look without a claim has found.
pub(super) fn record(claim: &Claim, found: Option<Row>) -> QueryResult<Option<Record>> {
    let Some(row) = found.filter(|row| row.live) else {
        return Ok(None);
    };
    row.check(claim)?;
    Ok(match row.claimed() {
        Claimed::Recorded(record) => Some(record),
        _ => None,
    })
}
