//! Pruning on MySQL and MariaDB: what is to go is found first, since a DELETE would wait for what somebody
//! else has locked.

use diesel::QueryResult;

use crate::defects::{Defect, is_seeded};
use crate::store::change::{self, Change, Table};
use crate::store::lease::Leases;
use crate::store::prune::Pruned;
use crate::store::statement::{Piece, statement};

/// What one statement can name, each by a value of its own.
const MOST: u32 = 10_000;

/// A deleted row leaves the index as soon as nobody can see it any more: every batch begins at what is left.
pub(super) async fn prune<C: Leases>(connection: &mut C, limit: u32) -> QueryResult<Pruned> {
    let mut count = 0;
    while count < limit {
        let some = MOST.min(limit - count);
        let deleted = prune_some(connection, some).await?;
        count += deleted;
        if deleted < some {
            break;
        }
    }
    Ok(Pruned {
        count,
        reached: None,
    })
}

async fn prune_some<C: Leases>(connection: &mut C, limit: u32) -> QueryResult<u32> {
    let rows = statement![
        "SELECT id FROM idempotency_keys WHERE status IS NOT NULL AND expires_at <= ",
        Piece::Now,
        match is_seeded(Defect::PrunerDeletesPending) {
            true => " OR lease_expires_at <= utc_timestamp(6)",
            false => "",
        },
        " ORDER BY expires_at LIMIT ",
        Piece::Number(limit.into()),
        Piece::SkipLocked,
    ];
    let change = Change {
        table: Table::Keys,
        rows,
        change: statement!["DELETE FROM idempotency_keys"],
    };
    let count = change::change(connection, change).await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}
