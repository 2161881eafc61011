//! Lease mode on SQLite: its words, and how its statements are run. Each is one hop to the blocking
//! thread.

use diesel::query_builder::AstPass;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, RunQueryDsl, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

use super::{DeleteExpired, hop};
use crate::store::CommitError;
use crate::store::lease::{Leases, Pending, State, UnresolvedRow};
use crate::store::statement::{
    Dialect, IdsQuery, Numbers, PositionsQuery, StateQuery, Statement, StepsQuery, UnresolvedQuery,
};
use crate::transaction::sqlite as transaction;

impl Dialect for Sqlite {
    const NOW: &'static str = super::NOW;
    const LATER: (&'static str, &'static str) = (
        "strftime('%Y-%m-%d %H:%M:%f', 'now', ((",
        ") / 1000.0) || ' seconds')",
    );
    const EARLIER: (&'static str, &'static str) = (
        "strftime('%Y-%m-%d %H:%M:%f', 'now', ((-",
        ") / 1000.0) || ' seconds')",
    );
    const SINCE: (&'static str, &'static str) = (
        "CAST((julianday('now') - julianday(",
        ")) * 86400000.0 AS integer)",
    );
    const SIZE: (&'static str, &'static str) = ("length(CAST(", " AS blob))");
    const EXACT: (&'static str, &'static str) = ("CAST(julianday(", ") * 86400000.0 AS integer)");
    const ID: (&'static str, &'static str) = ("", "");
    const BYTES_OF_ID: (&'static str, &'static str) = ("", "");
    const ONE_OF: (&'static str, &'static str) = (" IN (", ")");
    const STARTED: &'static str = super::NOW;
    const UNLESS_THERE: (&'static str, &'static str) = (" ON CONFLICT (", ") DO NOTHING");
    /// Nobody is told here.
    const WAKE: (&'static str, &'static str) = ("", "");
    const KEY: &'static str = "key";
    const WIDE: (&'static str, &'static str) = ("CAST(", " AS bigint)");
    const JOINED: (&'static str, &'static str, &'static str) = ("", " || ", "");
    /// There is one writer.
    const SKIP_LOCKED: &'static str = "";

    fn bind_bytes<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b [u8]) -> QueryResult<()> {
        out.push_bind_param::<Binary, [u8]>(value)
    }

    fn bind_text<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b str) -> QueryResult<()> {
        out.push_bind_param::<Text, str>(value)
    }

    fn bind_number<'b>(out: &mut AstPass<'_, 'b, Self>, value: &'b i64) -> QueryResult<()> {
        out.push_bind_param::<BigInt, i64>(value)
    }

    fn among<'b>(out: &mut AstPass<'_, 'b, Self>, numbers: &'b Numbers) -> QueryResult<()> {
        out.push_sql(" IN (SELECT value FROM json_each(");
        Self::bind_text(out, &numbers.json)?;
        out.push_sql("))");
        Ok(())
    }
}

impl RunQueryDsl<SqliteConnection> for Statement {}
impl RunQueryDsl<SqliteConnection> for IdsQuery {}
impl RunQueryDsl<SqliteConnection> for PositionsQuery {}
impl RunQueryDsl<SqliteConnection> for StepsQuery {}
impl RunQueryDsl<SqliteConnection> for StateQuery {}
impl RunQueryDsl<SqliteConnection> for UnresolvedQuery {}

/// Questions that are asked in the same way, each with a row of its answer.
macro_rules! questions {
    ($($name:ident($query:ty) -> $row:ty;)+) => {$(
        async fn $name(connection: &mut Self, query: $query) -> QueryResult<Vec<$row>> {
            connection
                .spawn_blocking(move |connection| query.get_results(connection))
                .await
        }
    )+};
}
pub(super) use questions;

impl Leases for SyncConnectionWrapper<SqliteConnection> {
    const CHANGES_AT_ONCE: bool = true;

    async fn pend(connection: &mut Self, pending: Pending) -> Result<(), CommitError> {
        hop(connection, move |connection| {
            if pending.over_expired {
                DeleteExpired(pending.id).execute(connection)?;
            }
            pending.insert.execute(connection)?;
            transaction::commit(connection)
        })
        .await
    }

    /// Whoever writes is alone.
    async fn read_committed(_: &mut Self) -> QueryResult<()> {
        Ok(())
    }

    async fn execute(connection: &mut Self, statement: Statement) -> QueryResult<usize> {
        connection
            .spawn_blocking(move |connection| statement.execute(connection))
            .await
    }

    async fn conclude(connection: &mut Self, statement: Statement) -> Result<bool, CommitError> {
        let concluded = hop(connection, move |connection| {
            match statement.execute(connection)? {
                0 => Err(Error::NotFound),
                _ => transaction::commit(connection),
            }
        });
        match concluded.await {
            Err(CommitError::RolledBack(Error::NotFound)) => Ok(false),
            concluded => concluded.map(|()| true),
        }
    }

    questions! {
        ids(IdsQuery) -> Vec<u8>;
        positions(PositionsQuery) -> i64;
        steps(StepsQuery) -> Option<String>;
        states(StateQuery) -> State;
        unresolved(UnresolvedQuery) -> UnresolvedRow;
    }

    fn stop((): ()) {}
}
