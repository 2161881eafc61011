//! Lease mode on PostgreSQL: its words, and how its statements are run.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::AstPass;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use tokio_postgres::CancelToken;

use crate::store::lease::{Leases, Pending};
use crate::store::questions::{awaited, questions};
use crate::store::statement::{Dialect, Numbers, Statement, binds};
use crate::store::{CommitError, Store};
use crate::transaction::answered;
use crate::transaction::postgres as transaction;
use crate::transaction::server::OPENING;

impl Dialect for Pg {
    const NOW: &'static str = "clock_timestamp()";
    const LATER: (&'static str, &'static str) =
        ("clock_timestamp() + (", ") * interval '1 millisecond'");
    const EARLIER: (&'static str, &'static str) =
        ("statement_timestamp() - (", ") * interval '1 millisecond'");
    const SINCE: (&'static str, &'static str) = (
        "CAST(extract(epoch FROM clock_timestamp() - ",
        ") * 1000 AS bigint)",
    );
    const SIZE: (&'static str, &'static str) = ("octet_length(", ")");
    const EXACT: (&'static str, &'static str) =
        ("CAST(extract(epoch FROM ", ") * 1000000 AS bigint)");
    const ID: (&'static str, &'static str) = ("encode(", ", 'hex')::uuid");
    const BYTES_OF_ID: (&'static str, &'static str) = ("uuid_send(", ")");
    const ONE_OF: (&'static str, &'static str) = (" = ANY(ARRAY(", "))");
    const STARTED: &'static str = "statement_timestamp()";
    const UNLESS_THERE: (&'static str, &'static str) = (" ON CONFLICT (", ") DO NOTHING");
    const WAKE: (&'static str, &'static str) = (
        "WITH changed AS (",
        " RETURNING 1) SELECT pg_notify('idempotency_outbox', '') FROM changed",
    );
    const KEY: &'static str = "key";
    const WIDE: (&'static str, &'static str) = ("CAST(", " AS bigint)");
    const JOINED: (&'static str, &'static str, &'static str) = ("", " || ", "");
    const SKIP_LOCKED: &'static str = " FOR UPDATE SKIP LOCKED";
    const CLOCK: &'static str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";

    binds! {}

    fn among<'b>(out: &mut AstPass<'_, 'b, Self>, numbers: &'b Numbers) -> QueryResult<()> {
        out.push_sql(
            " = ANY(ARRAY(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(",
        );
        Self::bind_text(out, &numbers.json)?;
        out.push_sql(" AS json))))");
        Ok(())
    }
}

pub(super) const READ_COMMITTED: &str =
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";

impl Leases for AsyncPgConnection {
    const CHANGES_AT_ONCE: bool = true;

    async fn pend(connection: &mut Self, pending: Pending) -> Result<(), CommitError> {
        let Pending {
            id,
            insert,
            over_expired,
        } = pending;
        let write = async |connection: &Self| {
            super::insert_over(connection, id, over_expired, insert).await
        };
        transaction::commit_with(connection, write)
            .await
            .map_err(|failure| failure.judge(super::is_taken))
    }

    async fn read_committed(connection: &mut Self) -> QueryResult<()> {
        answered(OPENING, connection.batch_execute(READ_COMMITTED)).await
    }

    async fn execute(connection: &mut Self, statement: Statement) -> QueryResult<usize> {
        asked(connection, async |connection| {
            statement.execute(connection).await
        })
        .await
    }

    async fn conclude(connection: &mut Self, statement: Statement) -> Result<bool, CommitError> {
        match <Self as Leases>::execute(connection, statement).await {
            Ok(0) => {
                if let Err(error) = Store::rollback(connection).await {
                    tracing::warn!(%error, "rollback failed");
                }
                Ok(false)
            }
            Ok(_) => Store::commit(connection).await.map(|()| true),
            // The pool closes the connection.
            Err(error) => Err(CommitError::RolledBack(error)),
        }
    }

    questions! { leases awaited }

    fn stop(canceller: CancelToken) {
        transaction::stop(canceller);
    }
}

/// Asks it one thing, for which it has a bounded time. A connection on which something failed may owe an
/// answer that came too late, and is given up.
pub(super) async fn asked<T>(
    connection: &mut AsyncPgConnection,
    question: impl AsyncFnOnce(&mut AsyncPgConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    let answer = answered(OPENING, question(connection)).await;
    if answer.is_err() {
        transaction::give_up(connection);
    }
    answer
}
