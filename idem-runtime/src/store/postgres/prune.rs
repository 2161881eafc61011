//! Pruning on PostgreSQL: the two statements, from the first expired record on or from a bound.

use diesel::pg::Pg;
use diesel::pg::data_types::PgTimestamp;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Timestamptz};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::defects::{Defect, is_seeded};
use crate::store::prune::{Pruned, Reached};

pub(super) async fn prune(
    connection: &mut AsyncPgConnection,
    since: Option<Reached>,
    limit: u32,
) -> QueryResult<Pruned> {
    let limit = i64::from(limit);
    let answer = match since {
        None => Prune { limit }.get_result(connection).await?,
        Some(since) => PruneSince::of(since, limit).get_result(connection).await?,
    };
    Ok(pruned(answer))
}

pub(super) fn pruned((count, reached): (i64, Option<PgTimestamp>)) -> Pruned {
    Pruned {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        reached: reached.map(|PgTimestamp(reached)| Reached(reached)),
    }
}

type Answer = (BigInt, Nullable<Timestamptz>);

#[derive(QueryId)]
pub(super) struct Prune {
    pub(super) limit: i64,
}

impl Query for Prune {
    type SqlType = Answer;
}

impl QueryFragment<Pg> for Prune {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(SELECT_EXPIRED);
        delete_selected(&self.limit, out)
    }
}

#[derive(QueryId)]
pub(super) struct PruneSince {
    since: PgTimestamp,
    limit: i64,
}

impl PruneSince {
    pub(super) fn of(Reached(since): Reached, limit: i64) -> Self {
        let since = PgTimestamp(since);
        Self { since, limit }
    }
}

impl Query for PruneSince {
    type SqlType = Answer;
}

impl QueryFragment<Pg> for PruneSince {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(SELECT_EXPIRED);
        out.push_sql(" AND expires_at >= ");
        out.push_bind_param::<Timestamptz, _>(&self.since)?;
        delete_selected(&self.limit, out)
    }
}

/// `now()` is the statement's start here and may use the index on `expires_at`, which
/// `clock_timestamp()` may not.
const SELECT_EXPIRED: &str = "WITH pruned AS (\
     DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(\
     SELECT ctid FROM idempotency_keys WHERE expires_at <= now() AND status IS NOT NULL";

fn delete_selected<'b>(limit: &'b i64, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
    if is_seeded(Defect::PrunerDeletesPending) {
        out.push_sql(" OR lease_expires_at <= now()");
    }
    out.push_sql(" ORDER BY expires_at LIMIT ");
    out.push_bind_param::<BigInt, _>(limit)?;
    out.push_sql(
        " FOR UPDATE SKIP LOCKED)) RETURNING expires_at) \
         SELECT count(*), max(expires_at) FROM pruned",
    );
    Ok(())
}
