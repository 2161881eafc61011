//! SQLite: `BEGIN IMMEDIATE` is the claim, since there is one writer. A first look without it lets a
//! replay pass a running writer. Each phase is one hop to the blocking thread.

mod dialect;

use std::time::Duration;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use uuid::Uuid;

use super::lease::Pending;
use super::prune::{Pruned, Reached};
use super::questions::{answers, questions};
use super::row::{self, Row, Seen};
use super::statement::{Piece, Statement, statement};
use super::{
    Backend, BlockingBackend, Claim, Claimed, CommitError, Hop, INSERT, NewRecord, Phases, Record,
    address,
};
use crate::defects::{Defect, is_seeded};
use crate::policy::Isolation;
use crate::transaction::sqlite as transaction;

impl Backend for SyncConnectionWrapper<SqliteConnection> {}

impl Hop for SyncConnectionWrapper<SqliteConnection> {
    type Connection = SqliteConnection;

    const NEEDS_UNWINDING: bool = true;

    async fn hop<R: Send + 'static>(
        &mut self,
        phase: impl FnOnce(&mut SqliteConnection) -> QueryResult<R> + Send + 'static,
    ) -> QueryResult<R> {
        self.spawn_blocking(phase).await
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn address(&self) -> usize {
        address(self)
    }
}

#[diagnostic::do_not_recommend]
impl BlockingBackend for SqliteConnection {}

impl Phases for SqliteConnection {
    const ISOLATION: bool = false;

    const ONE_WRITER: bool = true;

    const STEP_ISOLATION: Option<Isolation> = None;

    const TELLS: bool = false;

    const CHANGES_AT_ONCE: bool = true;

    /// There is no server that may not answer; the busy time-out is the application's.
    const OPENING: Duration = Duration::MAX;

    const COMMITTING: Duration = Duration::MAX;

    fn is_set_up() -> bool {
        crate::pool::setup::SQLITE.is_asked_for()
    }

    fn begin(&mut self, _: Option<Isolation>) -> QueryResult<()> {
        transaction::begin(self)
    }

    fn claim(&mut self, claim: &Claim, _: Option<Isolation>) -> QueryResult<Claimed> {
        // Nobody is asked for a lock: nothing but the row decides.
        let judge = |seen| row::judge(claim, Some(true), seen);
        let before = judge(seen(self, claim)?)?;
        // Whether a key is too old is for whoever has the claim to know.
        if !matches!(before, Claimed::Free { .. } | Claimed::KeyExpired) {
            return Ok(before);
        }
        transaction::begin(self)?;
        let claimed = match is_seeded(Defect::LookBeforeLock) {
            true => before,
            false => judge(seen(self, claim)?)?,
        };
        if !matches!(claimed, Claimed::Free { .. }) {
            transaction::rollback(self)?;
        }
        Ok(claimed)
    }

    fn look(&mut self, claim: &Claim) -> QueryResult<Option<Record>> {
        row::record(claim, look(self, claim)?)
    }

    fn record(&mut self, record: &NewRecord) -> Result<(), CommitError> {
        end(self, |connection| {
            insert(connection, record)?;
            transaction::commit(connection)
        })
    }

    fn remember(&mut self, record: &NewRecord) -> Result<(), CommitError> {
        end(self, |connection| {
            transaction::rollback(connection)?;
            transaction::begin(connection)?;
            insert(connection, record)?;
            transaction::commit(connection)
        })
    }

    fn commit(&mut self) -> Result<(), CommitError> {
        end(self, transaction::commit)
    }

    fn rollback(&mut self) -> QueryResult<()> {
        transaction::rollback(self)
    }

    fn abandon(&mut self) -> QueryResult<()> {
        transaction::abandon(self)
    }

    /// A deleted row leaves the index at once, so that what is left begins at its left end.
    async fn prune<H: Hop<Connection = Self>>(
        connection: &mut H,
        _: Option<Reached>,
        limit: u32,
    ) -> QueryResult<Pruned> {
        let prune = Prune(i64::from(limit));
        let count = connection
            .hop(move |connection| prune.execute(connection))
            .await?;
        Ok(Pruned {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            reached: None,
        })
    }

    fn pend(&mut self, pending: Pending) -> Result<(), CommitError> {
        end(self, |connection| {
            if pending.over_expired {
                DeleteExpired(pending.id).execute(connection)?;
            }
            pending.insert.execute(connection)?;
            transaction::commit(connection)
        })
    }

    /// Whoever writes is alone.
    fn read_committed(&mut self) -> QueryResult<()> {
        Ok(())
    }

    fn execute(&mut self, statement: Statement) -> QueryResult<usize> {
        RunQueryDsl::execute(statement, self)
    }

    fn conclude(&mut self, statement: Statement) -> Result<bool, CommitError> {
        let concluded = end(self, |connection| match statement.execute(connection)? {
            0 => Err(Error::NotFound),
            _ => transaction::commit(connection),
        });
        match concluded {
            Err(CommitError::RolledBack(Error::NotFound)) => Ok(false),
            concluded => concluded.map(|()| true),
        }
    }

    /// Whoever writes is alone, so that positions are in the order of the commits without a lock.
    fn queue(&mut self, _: Option<i64>, insert: Statement) -> QueryResult<usize> {
        transaction::inside(self)?;
        RunQueryDsl::execute(insert, self)
    }

    /// It is written anew, because a row that is only renumbered leaves the table's counter behind, and its
    /// number would come again when it has gone. The old row makes room for it.
    fn requeue(&mut self, _: Option<i64>, id: Uuid) -> QueryResult<usize> {
        let requeue = statement![
            "INSERT OR REPLACE INTO idempotency_outbox (message_id, scope, key, topic, ordering_key, \
             headers, content_type, payload, enqueued_at, last_error, available_at) \
             SELECT message_id, scope, key, topic, ordering_key, headers, content_type, payload, \
             enqueued_at, last_error, ",
            Piece::Now,
            " FROM idempotency_outbox WHERE dead_at IS NOT NULL AND message_id = ",
            id,
        ];
        RunQueryDsl::execute(requeue, self)
    }

    /// Nobody listens here.
    fn wake(&mut self) -> QueryResult<()> {
        Ok(())
    }

    questions! { leases answers }
    questions! { queue answers }
}

/// Ends the transaction, one way or the other.
fn end(
    connection: &mut SqliteConnection,
    phase: impl FnOnce(&mut SqliteConnection) -> QueryResult<()>,
) -> Result<(), CommitError> {
    if let Err(error) = transaction::release(connection) {
        let error = transaction::failed(connection, error);
        return Err(CommitError::Vanished(error));
    }
    phase(connection).map_err(|error| {
        let error = transaction::failed(connection, error);
        if is_taken(&error) {
            CommitError::Taken
        } else {
            CommitError::RolledBack(error)
        }
    })
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

/// What is there, in one statement.
fn seen(connection: &mut SqliteConnection, claim: &Claim) -> QueryResult<Seen> {
    if claim.horizon.is_none() {
        return look(connection, claim).map(Seen::from);
    }
    let seen = LookAndClock(Look(claim.id.row)).get_result(connection);
    seen.map(|(row, now)| Seen::from((row, now)))
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
        out.push_sql(COLUMNS);
        out.push_sql(NOW);
        out.push_sql(", 1) FROM idempotency_keys WHERE id = ");
        out.push_bind_param::<Binary, [u8]>(&self.0)
    }
}

const COLUMNS: &str = "SELECT scope, key, fingerprint, status, headers, body, \
                       coalesce(status IS NULL OR expires_at > ";

/// The same with the clock, which is there without a row.
#[derive(QueryId)]
struct LookAndClock(Look);

impl Query for LookAndClock {
    type SqlType = row::ColumnsAndClock;
}

impl RunQueryDsl<SqliteConnection> for LookAndClock {}

impl QueryFragment<Sqlite> for LookAndClock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(COLUMNS);
        out.push_sql(NOW);
        out.push_sql(
            ", 1), CAST(round((julianday('now') - julianday('1970-01-01')) * 86400000) AS INTEGER) \
             FROM (SELECT 1) AS always LEFT JOIN idempotency_keys ON id = ",
        );
        out.push_bind_param::<Binary, [u8]>(&self.0.0)
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
