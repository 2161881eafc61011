//! PostgreSQL: the claim is a pair of advisory locks, the record is the last row of the
//! transaction and is sent together with COMMIT.

#[cfg(feature = "postgres-blocking")]
mod blocking;
mod lease;
mod outbox;
mod prune;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{BigInt, Bool, Bytea, Nullable, SmallInt, Text, Uuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::{join, try_join};
use tokio_postgres::CancelToken;

use super::prune::{Pruned, Reached};
use super::row::{self, Seen, judge};
use super::{Backend, Claim, Claimed, CommitError, INSERT, NewRecord, Record, Store};
use crate::defects::{Defect, is_seeded};
use crate::policy::Isolation;
use crate::transaction::answered;
use crate::transaction::postgres as transaction;
use crate::transaction::server::OPENING;

/// Whether somebody else has recorded the key.
fn is_taken(error: &Error) -> bool {
    matches!(
        error,
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
            if information.table_name() == Some("idempotency_keys")
    )
}

impl Backend for AsyncPgConnection {}

impl Store for AsyncPgConnection {
    type Canceller = CancelToken;

    const SYSTEM: &'static str = "postgresql";

    const ISOLATION: bool = true;

    const ONE_WRITER: bool = false;

    const STEP_ISOLATION: Option<Isolation> = Some(Isolation::ReadCommitted);

    const NEEDS_UNWINDING: bool = false;

    fn is_set_up() -> bool {
        crate::pool::setup::POSTGRES.is_asked_for()
    }

    async fn begin(connection: &mut Self, isolation: Option<Isolation>) -> QueryResult<()> {
        transaction::open(connection)?;
        let begin = transaction::begin_sql(isolation);
        answered(OPENING, connection.batch_execute(&begin)).await
    }

    async fn claim(
        connection: &mut Self,
        claim: &Claim,
        isolation: Option<Isolation>,
    ) -> QueryResult<Claimed> {
        transaction::open(connection)?;
        let begin = transaction::begin_sql(isolation);
        let shared: &Self = connection;
        // The first poll of each puts it on the wire. On a cold connection each statement is prepared
        // first, under the cache's lock, so that the look still cannot overtake the lock.
        let answers = async {
            let begin = async { (&mut &*shared).batch_execute(&begin).await };
            let lock = async { lock(claim).get_result(&mut &*shared).await };
            let look = async { seen(shared, claim).await };
            let (begun, locked, found) = match is_seeded(Defect::LookBeforeLock) {
                true => {
                    let (begun, found) = join!(begin, look);
                    (begun, lock.await, found)
                }
                false => join!(begin, lock, look),
            };
            begun?;
            Ok((locked?, found?))
        };
        let (locked, found) = answered(OPENING, answers).await?;
        let claimed = judge(claim, locked, found)?;
        if !matches!(claimed, Claimed::Free { .. }) {
            transaction::rollback(connection).await?;
        }
        Ok(claimed)
    }

    async fn look(connection: &mut Self, claim: &Claim) -> QueryResult<Option<Record>> {
        let found = lease::asked(connection, async |connection| {
            look(claim).get_result(connection).await.optional()
        });
        row::record(claim, found.await?)
    }

    async fn record(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        let write = async |connection: &Self| write(connection, &record).await;
        transaction::commit_with(connection, write)
            .await
            .map_err(|failure| failure.judge(is_taken))
    }

    async fn remember(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        let write = async |connection: &Self| write(connection, &record).await;
        transaction::rollback_with(connection, write)
            .await
            .map_err(|failure| failure.judge(is_taken))
    }

    async fn commit(connection: &mut Self) -> Result<(), CommitError> {
        let prove = async |connection: &Self| NoFailure.execute(&mut &*connection).await.map(drop);
        transaction::commit_with(connection, prove)
            .await
            .map_err(|failure| failure.judge(is_taken))
    }

    async fn rollback(connection: &mut Self) -> QueryResult<()> {
        transaction::rollback(connection).await
    }

    fn canceller(connection: &Self) -> CancelToken {
        connection.cancel_token()
    }

    async fn abandon(connection: &mut Self, canceller: CancelToken) {
        transaction::abandon(connection, canceller).await;
    }

    async fn prune(
        connection: &mut Self,
        since: Option<Reached>,
        limit: u32,
    ) -> QueryResult<Pruned> {
        prune::prune(connection, since, limit).await
    }
}

/// The claim: the lock on key and fingerprint first, the lock on the key second. NULL: the same
/// request is in flight; false: the key is held by another one.
fn lock(claim: &Claim) -> Lock {
    Lock {
        fingerprint: claim.fingerprint_lock,
        key: claim.id.lock,
    }
}

fn look(claim: &Claim) -> Look {
    Look(uuid::Uuid::from_bytes(claim.id.row))
}

/// What is there behind the lock, in one statement.
async fn seen(connection: &AsyncPgConnection, claim: &Claim) -> QueryResult<Seen> {
    let mut connection = connection;
    match claim.horizon {
        Some(_) => {
            let seen = LookAndClock(look(claim)).get_result(&mut connection).await;
            seen.map(|(row, now)| Seen::from((row, now)))
        }
        None => {
            let row = look(claim).get_result(&mut connection).await.optional();
            row.map(Seen::from)
        }
    }
}

#[derive(QueryId)]
struct Lock {
    fingerprint: i64,
    key: i64,
}

/// Advisory locks are the database's, tables are a schema's: another schema's keys have other locks.
const THIS_TABLE: &str = " # 'idempotency_keys'::regclass::oid::bigint";

impl Query for Lock {
    type SqlType = Nullable<Bool>;
}

impl QueryFragment<Pg> for Lock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT CASE WHEN pg_try_advisory_xact_lock(");
        out.push_bind_param::<BigInt, _>(&self.fingerprint)?;
        out.push_sql(THIS_TABLE);
        out.push_sql(") THEN pg_try_advisory_xact_lock(");
        out.push_bind_param::<BigInt, _>(&self.key)?;
        out.push_sql(THIS_TABLE);
        out.push_sql(") END");
        Ok(())
    }
}

#[derive(QueryId)]
struct Look(uuid::Uuid);

impl Query for Look {
    type SqlType = row::Columns;
}

impl QueryFragment<Pg> for Look {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(COLUMNS);
        row::age(&mut out);
        out.push_sql(" FROM idempotency_keys WHERE id = ");
        out.push_bind_param::<Uuid, _>(&self.0)
    }
}

const COLUMNS: &str = "SELECT scope, key, fingerprint, status::integer, headers, body, \
                       coalesce(status IS NULL OR expires_at > clock_timestamp(), true)";

/// The same with the clock, which is there without a row.
#[derive(QueryId)]
struct LookAndClock(Look);

impl Query for LookAndClock {
    type SqlType = row::ColumnsAndClock;
}

impl QueryFragment<Pg> for LookAndClock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(COLUMNS);
        row::age(&mut out);
        out.push_sql(
            ", floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint \
             FROM (SELECT 1) AS always LEFT JOIN idempotency_keys ON id = ",
        );
        out.push_bind_param::<Uuid, _>(&self.0.0)
    }
}

/// Sends the record, behind the removal of the expired one that is in its way.
async fn write(connection: &AsyncPgConnection, record: &NewRecord) -> QueryResult<()> {
    let id = record.claim.id.row;
    insert_over(connection, id, record.over_expired, Insert::of(record)).await
}

/// Sends an INSERT, behind the removal of the expired row that is in its way.
///
/// Only the INSERT tells how it ended: where each commits by itself, it may succeed behind a removal
/// that failed. `try_join!` matters: an INSERT that was not sent ends it while the removal is pending.
async fn insert_over(
    connection: &AsyncPgConnection,
    id: [u8; 16],
    over_expired: bool,
    insert: impl QueryFragment<Pg> + QueryId + Send,
) -> QueryResult<()> {
    let id = uuid::Uuid::from_bytes(id);
    let make_room = async {
        if over_expired && let Err(error) = DeleteExpired(id).execute(&mut &*connection).await {
            tracing::warn!(%error, "an expired record could not be removed");
        }
        Ok(())
    };
    let insert = async { insert.execute(&mut &*connection).await };
    try_join!(make_room, insert).map(drop)
}

/// Fails if a statement before it has failed.
#[derive(QueryId)]
struct NoFailure;

impl QueryFragment<Pg> for NoFailure {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT 1");
        Ok(())
    }
}

#[derive(QueryId)]
struct DeleteExpired(uuid::Uuid);

impl QueryFragment<Pg> for DeleteExpired {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "DELETE FROM idempotency_keys \
             WHERE expires_at <= clock_timestamp() AND status IS NOT NULL AND id = ",
        );
        out.push_bind_param::<Uuid, _>(&self.0)
    }
}

struct Insert<'a> {
    id: uuid::Uuid,
    record: &'a NewRecord,
    body: Option<&'a [u8]>,
    status: i16,
    retain_ms: i64,
}

impl<'a> Insert<'a> {
    fn of(record: &'a NewRecord) -> Self {
        Self {
            id: uuid::Uuid::from_bytes(record.claim.id.row),
            record,
            body: record.stored.response.body.as_deref(),
            status: i16::try_from(record.stored.response.status).unwrap_or_default(),
            retain_ms: record.retain_ms(),
        }
    }
}

impl QueryId for Insert<'_> {
    type QueryId = Insert<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for Insert<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let NewRecord {
            claim,
            endpoint,
            stored,
            ..
        } = self.record;
        out.push_sql(INSERT);
        out.push_bind_param::<Uuid, _>(&self.id)?;
        for text in [&*claim.scope, &*claim.key, endpoint.as_str()] {
            out.push_sql(", ");
            out.push_bind_param::<Text, str>(text)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Bytea, _>(&stored.fingerprint)?;
        out.push_sql(", ");
        out.push_bind_param::<SmallInt, _>(&self.status)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&stored.response.headers)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Bytea>, _>(&self.body)?;
        out.push_sql(", clock_timestamp(), clock_timestamp() + ");
        out.push_bind_param::<BigInt, _>(&self.retain_ms)?;
        out.push_sql(" * interval '1 millisecond')");
        Ok(())
    }
}
