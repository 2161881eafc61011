//! Lease mode on MySQL and MariaDB: their words, and how their statements are run.

use diesel::QueryResult;
use diesel::mysql::Mysql;
use diesel::query_builder::AstPass;
use diesel_async::{AsyncMysqlConnection, MysqlCancelToken, RunQueryDsl, SimpleAsyncConnection};

use super::transaction;
use crate::store::lease::{Leases, Pending};
use crate::store::questions::{awaited, questions};
use crate::store::statement::{Dialect, Numbers, Statement, binds, list};
use crate::store::{CommitError, Store};
use crate::transaction::answered;
use crate::transaction::server::OPENING;

/// Times are in UTC, whatever the session's time zone. They are those of the statement's start, not of the
/// transaction's.
impl Dialect for Mysql {
    const NOW: &'static str = "utc_timestamp(6)";
    const LATER: (&'static str, &'static str) =
        ("timestampadd(MICROSECOND, (", ") * 1000, utc_timestamp(6))");
    const EARLIER: (&'static str, &'static str) = (
        "timestampadd(MICROSECOND, (",
        ") * -1000, utc_timestamp(6))",
    );
    const SINCE: (&'static str, &'static str) = (
        "timestampdiff(MICROSECOND, ",
        ", utc_timestamp(6)) DIV 1000",
    );
    const EXACT: (&'static str, &'static str) = ("timestampdiff(MICROSECOND, '1970-01-01', ", ")");
    const ID: (&'static str, &'static str) = ("", "");
    const BYTES_OF_ID: (&'static str, &'static str) = ("", "");
    const ONE_OF: (&'static str, &'static str) = (" IN (SELECT * FROM (", ") AS chosen)");
    const STARTED: &'static str = "utc_timestamp(6)";
    /// The INSERT fails, by itself.
    const UNLESS_THERE: (&'static str, &'static str) = ("/* unless there: ", " */");
    /// Nobody is told here.
    const WAKE: (&'static str, &'static str) = ("", "");
    const KEY: &'static str = "`key`";
    const WIDE: (&'static str, &'static str) = ("CAST(", " AS signed)");
    const JOINED: (&'static str, &'static str, &'static str) = ("concat(", ", ", ")");
    const SIZE: (&'static str, &'static str) = ("octet_length(", ")");
    const SKIP_LOCKED: &'static str = " FOR UPDATE SKIP LOCKED";

    binds! {}

    fn among<'b>(out: &mut AstPass<'_, 'b, Self>, numbers: &'b Numbers) -> QueryResult<()> {
        if numbers.each.is_empty() {
            out.push_sql(" IN (NULL)");
            return Ok(());
        }
        out.push_sql(" IN (");
        list(&numbers.each, out, Self::bind_number)?;
        out.push_sql(")");
        Ok(())
    }
}

impl Leases for AsyncMysqlConnection {
    /// An UPDATE locks every row that it looks at to find its own, and gives nothing back.
    const CHANGES_AT_ONCE: bool = false;

    async fn pend(connection: &mut Self, pending: Pending) -> Result<(), CommitError> {
        let pended = Self::conclude(connection, pending.insert);
        pended.await.map(drop)
    }

    async fn read_committed(connection: &mut Self) -> QueryResult<()> {
        asked(connection, async |connection| {
            connection.batch_execute(READ_COMMITTED).await
        })
        .await
    }

    async fn execute(connection: &mut Self, statement: Statement) -> QueryResult<usize> {
        asked(connection, async |connection| {
            statement.execute(connection).await
        })
        .await
    }

    async fn conclude(connection: &mut Self, statement: Statement) -> Result<bool, CommitError> {
        let concluded = async {
            transaction::prove(connection).await?;
            answered(OPENING, statement.execute(connection)).await
        };
        match concluded.await {
            Ok(0) => {
                if let Err(error) = Store::rollback(connection).await {
                    tracing::warn!(%error, "rollback failed");
                }
                Ok(false)
            }
            Ok(_) => transaction::end(connection).await.map(|()| true),
            Err(error) => Err(transaction::failed(connection, error).await.judge_message()),
        }
    }

    questions! { leases awaited }

    fn stop(canceller: MysqlCancelToken) {
        transaction::stop(canceller);
    }
}

pub(super) const READ_COMMITTED: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Asks it one thing, for which it has a bounded time. A connection on which something failed, or whose answer
/// was not waited for, may still owe one, and is given up.
pub(super) async fn asked<T>(
    connection: &mut AsyncMysqlConnection,
    question: impl AsyncFnOnce(&mut AsyncMysqlConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    let before = transaction::doubt(connection);
    let answer = answered(OPENING, question(connection)).await;
    if answer.is_ok() {
        transaction::trust(connection, before);
    }
    answer
}
