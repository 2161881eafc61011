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

/// What a claim has found: the answer of the lock, and the row that was there behind it. A row outranks a
/// refused lock: another replay may hold that for a moment.
pub(super) fn judge(
    claim: &Claim,
    locked: Option<bool>,
    found: Option<Row>,
) -> QueryResult<Claimed> {
    let over_expired = match found {
        Some(row) => {
            row.check(claim)?;
            if row.live {
                return Ok(row.claimed());
            }
            true
        }
        None => false,
    };
    Ok(match locked {
        _ if is_seeded(Defect::NoLockNoKey) => Claimed::Free { over_expired },
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
