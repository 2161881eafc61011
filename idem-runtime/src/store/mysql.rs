//! MySQL and MariaDB: the claim is a pair of named locks, the record is the last row of the transaction.
//!
//! The locks are taken before the transaction is opened, and so is the look: under SERIALIZABLE it would
//! lock the gap that the key is to go into, and unrelated keys would deadlock.

#[cfg(feature = "mysql-blocking")]
mod blocking;
mod lease;
mod outbox;
mod prune;

use diesel::mysql::Mysql;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Nullable};
use diesel_async::{AsyncMysqlConnection, MysqlCancelToken, RunQueryDsl};

use super::prune::{Pruned, Reached};
use super::row::{self, Row, Seen, judge};
use super::{Backend, Claim, Claimed, CommitError, NewRecord, Record, Store, insert};
use crate::defects::{Defect, is_seeded};
use crate::policy::Isolation;
use crate::transaction::answered;
use crate::transaction::mysql as transaction;
use crate::transaction::server::OPENING;

impl Backend for AsyncMysqlConnection {}

impl Store for AsyncMysqlConnection {
    type Canceller = MysqlCancelToken;

    const ISOLATION: bool = true;

    const ONE_WRITER: bool = false;

    const STEP_ISOLATION: Option<Isolation> = Some(Isolation::ReadCommitted);

    const NEEDS_UNWINDING: bool = false;

    fn address(connection: &Self) -> usize {
        super::address(connection)
    }

    fn is_set_up() -> bool {
        crate::pool::setup::MYSQL.is_asked_for()
    }

    async fn begin(connection: &mut Self, isolation: Option<Isolation>) -> QueryResult<()> {
        transaction::open(connection)?;
        match transaction::begin(connection, isolation).await {
            Ok(()) => Ok(()),
            Err(error) => Err(transaction::refused(connection, error).await),
        }
    }

    async fn claim(
        connection: &mut Self,
        claim: &Claim,
        isolation: Option<Isolation>,
    ) -> QueryResult<Claimed> {
        transaction::open(connection)?;
        let claimed = match locked_and_looked(connection, claim).await {
            Ok((locked, found)) => judge(claim, locked.map(|locked| locked == 1), found)?,
            Err(error) => return Err(transaction::refused(connection, error).await),
        };
        match claimed {
            Claimed::Free { over_expired } => {
                if over_expired {
                    let room = DeleteExpired(claim.id.row).execute(connection);
                    answered(OPENING, room).await?;
                }
                transaction::begin(connection, isolation).await?;
                Ok(Claimed::Free {
                    over_expired: false,
                })
            }
            claimed => {
                transaction::unlock(connection).await?;
                Ok(claimed)
            }
        }
    }

    async fn look(connection: &mut Self, claim: &Claim) -> QueryResult<Option<Record>> {
        let found = lease::asked(connection, async |connection| look(claim, connection).await);
        match found.await {
            Ok(found) => row::record(claim, found),
            Err(error) => Err(transaction::refused(connection, error).await),
        }
    }

    async fn record(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        transaction::end_with(connection, &[&record_sql(&record)]).await
    }

    async fn remember(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        let insert = record_sql(&record);
        transaction::end_with(connection, &["ROLLBACK; START TRANSACTION", &insert]).await
    }

    async fn commit(connection: &mut Self) -> Result<(), CommitError> {
        transaction::end_with(connection, &[]).await
    }

    async fn rollback(connection: &mut Self) -> QueryResult<()> {
        transaction::rollback(connection).await
    }

    fn canceller(connection: &Self) -> MysqlCancelToken {
        connection.cancel_token()
    }

    async fn abandon(connection: &mut Self, canceller: MysqlCancelToken) {
        transaction::abandon(connection, canceller).await;
    }

    async fn prune(connection: &mut Self, _: Option<Reached>, limit: u32) -> QueryResult<Pruned> {
        prune::prune(connection, limit).await
    }
}

/// The lock first, so that the look sees what its last holder has committed.
async fn locked_and_looked(
    connection: &mut AsyncMysqlConnection,
    claim: &Claim,
) -> QueryResult<(Option<i64>, Seen)> {
    if is_seeded(Defect::LookBeforeLock) {
        let found = seen(claim, connection).await?;
        return Ok((lock(claim, connection).await?, found));
    }
    let locked = lock(claim, connection).await?;
    Ok((locked, seen(claim, connection).await?))
}

async fn lock(claim: &Claim, connection: &mut AsyncMysqlConnection) -> QueryResult<Option<i64>> {
    answered(OPENING, Lock::of(claim).get_result(connection)).await
}

async fn look(claim: &Claim, connection: &mut AsyncMysqlConnection) -> QueryResult<Option<Row>> {
    let look = Look(claim.id.row);
    let row = async { look.get_result(connection).await.optional() };
    answered(OPENING, row).await
}

/// What is there behind the lock, in one statement.
async fn seen(claim: &Claim, connection: &mut AsyncMysqlConnection) -> QueryResult<Seen> {
    if claim.horizon.is_none() {
        return look(claim, connection).await.map(Seen::from);
    }
    let look = LookAndClock(Look(claim.id.row));
    let seen = answered(OPENING, look.get_result(connection)).await;
    seen.map(|(row, now)| Seen::from((row, now)))
}

/// The claim: the lock on key and fingerprint first, the lock on the key second. NULL: the same request is
/// in flight; 0: the key is held by another one.
#[derive(QueryId)]
struct Lock {
    fingerprint: i64,
    key: i64,
}

impl Lock {
    fn of(claim: &Claim) -> Self {
        Self {
            fingerprint: claim.fingerprint_lock,
            key: claim.id.lock,
        }
    }
}

impl Query for Lock {
    type SqlType = Nullable<BigInt>;
}

impl QueryFragment<Mysql> for Lock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql("SELECT CASE WHEN ");
        try_lock(&self.fingerprint, out.reborrow())?;
        out.push_sql(" THEN ");
        try_lock(&self.key, out.reborrow())?;
        out.push_sql(" END");
        Ok(())
    }
}

/// Named locks are the server's, tables are a database's: another database's keys have other names. A name
/// has at most 64 characters.
fn try_lock<'b>(number: &'b i64, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
    out.push_sql("GET_LOCK(concat('idem:', left(sha2(database(), 256), 32), ':', ");
    out.push_bind_param::<BigInt, _>(number)?;
    out.push_sql("), 0)");
    Ok(())
}

#[derive(QueryId)]
struct Look([u8; 16]);

impl Query for Look {
    type SqlType = row::Columns;
}

impl QueryFragment<Mysql> for Look {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql(COLUMNS);
        out.push_sql(" FROM idempotency_keys WHERE id = ");
        out.push_bind_param::<Binary, [u8]>(&self.0)
    }
}

const COLUMNS: &str = "SELECT scope, `key`, fingerprint, status, headers, body, \
                       coalesce(status IS NULL OR expires_at > utc_timestamp(6), true)";

/// The same with the clock, which is there without a row. `unix_timestamp` would depend on the session's time
/// zone.
#[derive(QueryId)]
struct LookAndClock(Look);

impl Query for LookAndClock {
    type SqlType = row::ColumnsAndClock;
}

impl QueryFragment<Mysql> for LookAndClock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql(COLUMNS);
        out.push_sql(
            ", timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 1000 \
             FROM (SELECT 1) AS always LEFT JOIN idempotency_keys ON id = ",
        );
        out.push_bind_param::<Binary, [u8]>(&self.0.0)
    }
}

/// The record. All values are numbers or in hexadecimal digits, whatever is in them.
fn record_sql(record: &NewRecord) -> String {
    let NewRecord {
        claim,
        endpoint,
        stored,
        ..
    } = record;
    let response = &stored.response;
    let id = bytes(&claim.id.row);
    let body = response.body.as_deref();
    let values = [
        id,
        text(&claim.scope),
        text(&claim.key),
        text(endpoint),
        bytes(&stored.fingerprint),
        response.status.to_string(),
        text(&response.headers),
        body.map_or_else(|| "NULL".to_owned(), bytes),
        "utc_timestamp(6)".to_owned(),
        format!(
            "timestampadd(MICROSECOND, {} * 1000, utc_timestamp(6))",
            record.retain_ms()
        ),
    ];
    format!("{}{})", insert!("`key`"), values.join(", "))
}

/// Goes by itself, before the transaction: in it, two that find nothing any more would lock one gap, and
/// deadlock at their INSERTs.
#[derive(QueryId)]
struct DeleteExpired([u8; 16]);

impl QueryFragment<Mysql> for DeleteExpired {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql(
            "DELETE FROM idempotency_keys \
             WHERE status IS NOT NULL AND expires_at <= utc_timestamp(6) AND id = ",
        );
        out.push_bind_param::<Binary, [u8]>(&self.0)
    }
}

fn text(text: &str) -> String {
    format!("_utf8mb4 x'{}'", hex::encode(text))
}

fn bytes(bytes: &[u8]) -> String {
    format!("x'{}'", hex::encode(bytes))
}
