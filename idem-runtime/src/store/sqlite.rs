//! SQLite: `BEGIN IMMEDIATE` is the claim, since there is one writer. A first look without it lets a
//! replay pass a running writer. Each phase is one hop to the blocking thread.

mod lease;
mod outbox;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

use super::prune::{Pruned, Reached};
use super::row::{self, Row};
use super::{Backend, Claim, Claimed, CommitError, INSERT, NewRecord, Record, Store};
use crate::defects::{Defect, is_seeded};
use crate::policy::Isolation;
use crate::transaction::sqlite as transaction;

impl Backend for SyncConnectionWrapper<SqliteConnection> {}

impl Store for SyncConnectionWrapper<SqliteConnection> {
    type Canceller = ();

    const ISOLATION: bool = false;

    const ONE_WRITER: bool = true;

    const STEP_ISOLATION: Option<Isolation> = None;

    const NEEDS_UNWINDING: bool = true;

    fn is_set_up() -> bool {
        crate::pool::setup::SQLITE.is_asked_for()
    }

    async fn begin(connection: &mut Self, _: Option<Isolation>) -> QueryResult<()> {
        connection.spawn_blocking(transaction::begin).await
    }

    async fn claim(
        connection: &mut Self,
        claim: &Claim,
        _: Option<Isolation>,
    ) -> QueryResult<Claimed> {
        let claim = claim.clone();
        connection
            .spawn_blocking(move |connection| {
                // Nobody is asked for a lock: nothing but the row decides.
                let judge = |found| row::judge(&claim, Some(true), found);
                let before = judge(look(connection, &claim)?)?;
                if !matches!(before, Claimed::Free { .. }) {
                    return Ok(before);
                }
                transaction::begin(connection)?;
                let claimed = match is_seeded(Defect::LookBeforeLock) {
                    true => before,
                    false => judge(look(connection, &claim)?)?,
                };
                if !matches!(claimed, Claimed::Free { .. }) {
                    transaction::rollback(connection)?;
                }
                Ok(claimed)
            })
            .await
    }

    async fn look(connection: &mut Self, claim: &Claim) -> QueryResult<Option<Record>> {
        let claim = claim.clone();
        connection
            .spawn_blocking(move |connection| row::record(&claim, look(connection, &claim)?))
            .await
    }

    async fn record(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        hop(connection, move |connection| {
            insert(connection, &record)?;
            transaction::commit(connection)
        })
        .await
    }

    async fn remember(connection: &mut Self, record: NewRecord) -> Result<(), CommitError> {
        hop(connection, move |connection| {
            transaction::rollback(connection)?;
            transaction::begin(connection)?;
            insert(connection, &record)?;
            transaction::commit(connection)
        })
        .await
    }

    async fn commit(connection: &mut Self) -> Result<(), CommitError> {
        hop(connection, transaction::commit).await
    }

    async fn rollback(connection: &mut Self) -> QueryResult<()> {
        connection.spawn_blocking(transaction::rollback).await
    }

    fn canceller(_: &Self) {}

    /// A statement cannot be stopped here: this waits for its end, behind it on the blocking thread.
    async fn abandon(connection: &mut Self, (): ()) {
        if let Err(error) = connection.spawn_blocking(transaction::abandon).await {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }

    /// A deleted row leaves the index at once, so that what is left begins at its left end.
    async fn prune(connection: &mut Self, _: Option<Reached>, limit: u32) -> QueryResult<Pruned> {
        let count = connection
            .spawn_blocking(move |connection| Prune(i64::from(limit)).execute(connection))
            .await?;
        Ok(Pruned {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            reached: None,
        })
    }
}

/// One hop to the blocking thread that ends the transaction, one way or the other.
async fn hop(
    connection: &mut SyncConnectionWrapper<SqliteConnection>,
    phase: impl FnOnce(&mut SqliteConnection) -> QueryResult<()> + Send + 'static,
) -> Result<(), CommitError> {
    connection
        .spawn_blocking(move |connection| {
            if let Err(error) = transaction::release(connection) {
                let error = transaction::failed(connection, error);
                return Ok(Err(CommitError::Vanished(error)));
            }
            Ok(phase(connection).map_err(|error| {
                let error = transaction::failed(connection, error);
                if is_taken(&error) {
                    CommitError::Taken
                } else {
                    CommitError::RolledBack(error)
                }
            }))
        })
        .await
        .map_err(CommitError::Unknown)?
}

fn is_taken(error: &Error) -> bool {
    matches!(
        error,
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
            if information.message().contains(PRIMARY_KEY)
    )
}

/// SQLite names a violated key in its message only; table and column name are not its words.
const PRIMARY_KEY: &str = "idempotency_keys.id";

fn look(connection: &mut SqliteConnection, claim: &Claim) -> QueryResult<Option<Row>> {
    Look(claim.id.row).get_result(connection).optional()
}

/// The database's clock, as text that sorts by time.
const NOW: &str = "strftime('%Y-%m-%d %H:%M:%f', 'now')";

#[derive(QueryId)]
struct Look([u8; 16]);

impl Query for Look {
    type SqlType = row::Columns;
}

impl RunQueryDsl<SqliteConnection> for Look {}

impl QueryFragment<Sqlite> for Look {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "SELECT scope, key, fingerprint, status, headers, body, \
             coalesce(status IS NULL OR expires_at > ",
        );
        out.push_sql(NOW);
        out.push_sql(", 1) FROM idempotency_keys WHERE id = ");
        out.push_bind_param::<Binary, [u8]>(&self.0)
    }
}

fn insert(connection: &mut SqliteConnection, record: &NewRecord) -> QueryResult<()> {
    if record.over_expired {
        DeleteExpired(record.claim.id.row).execute(connection)?;
    }
    Insert {
        record,
        status: i32::from(record.stored.response.status),
        body: record.stored.response.body.as_deref(),
        lifetime: format!(
            "+{}.{:03} seconds",
            record.retain_ms() / 1000,
            record.retain_ms() % 1000
        ),
    }
    .execute(connection)
    .map(drop)
}

#[derive(QueryId)]
struct DeleteExpired([u8; 16]);

impl RunQueryDsl<SqliteConnection> for DeleteExpired {}

impl QueryFragment<Sqlite> for DeleteExpired {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("DELETE FROM idempotency_keys WHERE expires_at <= ");
        out.push_sql(NOW);
        out.push_sql(" AND status IS NOT NULL AND id = ");
        out.push_bind_param::<Binary, [u8]>(&self.0)
    }
}

struct Insert<'a> {
    record: &'a NewRecord,
    status: i32,
    body: Option<&'a [u8]>,
    lifetime: String,
}

impl QueryId for Insert<'_> {
    type QueryId = Insert<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for Insert<'_> {}

impl QueryFragment<Sqlite> for Insert<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        let NewRecord {
            claim,
            endpoint,
            stored,
            ..
        } = self.record;
        out.push_sql(INSERT);
        out.push_bind_param::<Binary, [u8]>(&claim.id.row)?;
        for text in [&*claim.scope, &*claim.key, endpoint.as_str()] {
            out.push_sql(", ");
            out.push_bind_param::<Text, str>(text)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Binary, _>(&stored.fingerprint)?;
        out.push_sql(", ");
        out.push_bind_param::<Integer, _>(&self.status)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&stored.response.headers)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Binary>, _>(&self.body)?;
        out.push_sql(", ");
        out.push_sql(NOW);
        out.push_sql(", strftime('%Y-%m-%d %H:%M:%f', 'now', ");
        out.push_bind_param::<Text, _>(&self.lifetime)?;
        out.push_sql("))");
        Ok(())
    }
}

#[derive(QueryId)]
struct Prune(i64);

impl RunQueryDsl<SqliteConnection> for Prune {}

impl QueryFragment<Sqlite> for Prune {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "DELETE FROM idempotency_keys WHERE rowid IN (\
             SELECT rowid FROM idempotency_keys WHERE status IS NOT NULL AND expires_at <= ",
        );
        out.push_sql(NOW);
        if is_seeded(Defect::PrunerDeletesPending) {
            out.push_sql(" OR lease_expires_at <= ");
            out.push_sql(NOW);
        }
        out.push_sql(" ORDER BY expires_at LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.0)?;
        out.push_sql(")");
        Ok(())
    }
}
