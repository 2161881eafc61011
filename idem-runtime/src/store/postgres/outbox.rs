//! The outbox on PostgreSQL: how its statements are run, and how a relay is woken.

use std::pin::pin;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::BigInt;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::{StreamExt, try_join};
use uuid::Uuid;

use super::lease::asked;
use crate::store::outbox::Queue;
use crate::store::questions::{awaited, questions};
use crate::store::statement::{Piece, Statement, statement};
use crate::transaction::postgres as transaction;

impl Queue for AsyncPgConnection {
    const LISTENS: bool = true;

    const TELLS: bool = true;

    /// Lock and INSERT go out together, the lock first, as in a claim. It may be waited for as long as the
    /// handler may take.
    async fn queue(
        connection: &mut Self,
        lock: Option<i64>,
        insert: Statement,
    ) -> QueryResult<usize> {
        transaction::inside(connection)?;
        let shared: &Self = connection;
        let lock = async {
            match lock {
                Some(number) => Lock(number).execute(&mut &*shared).await,
                None => Ok(0),
            }
        };
        let insert = async { insert.execute(&mut &*shared).await };
        try_join!(lock, insert).map(|(_, inserted)| inserted)
    }

    /// The lock comes before the new position, in one statement: it is held until the end of the transaction,
    /// also where that statement is the whole of it. It may be waited for as in [`Queue::queue`].
    async fn requeue(connection: &mut Self, lock: Option<i64>, id: Uuid) -> QueryResult<usize> {
        requeued(lock, id).execute(connection).await
    }

    questions! { queue awaited }

    async fn wake(connection: &mut Self) -> QueryResult<()> {
        asked(connection, async |connection| {
            Notify.execute(connection).await.map(drop)
        })
        .await
    }

    async fn listen(connection: &mut Self, wake: impl Fn()) -> QueryResult<()> {
        connection
            .batch_execute("LISTEN idempotency_outbox")
            .await?;
        wake();
        let mut notifications = pin!(connection.notifications_stream());
        while let Some(notification) = notifications.next().await {
            notification?;
            wake();
        }
        Ok(())
    }
}

/// Has a dead message sent after all, behind the lock of its order.
pub(super) fn requeued(lock: Option<i64>, id: Uuid) -> Statement {
    let locked = lock.map(|number| {
        let lock = statement![
            " FROM (SELECT pg_advisory_xact_lock(",
            Piece::Number(number),
            OF_OUTBOX,
            ")) AS locked",
        ];
        Piece::Nested(lock)
    });
    let requeue = statement![
        "UPDATE idempotency_outbox SET position = DEFAULT, dead_at = NULL, attempts = 0, \
         available_at = ",
        Piece::Now,
        locked.unwrap_or(Piece::Sql("")),
        " WHERE dead_at IS NOT NULL AND message_id = ",
        id,
    ];
    statement![Piece::Wake(requeue)]
}

#[derive(QueryId)]
pub(super) struct Notify;

impl QueryFragment<Pg> for Notify {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT pg_notify('idempotency_outbox', '')");
        Ok(())
    }
}

/// Behind a number: that of a lock which other tables' locks do not meet.
const OF_OUTBOX: &str = " # 'idempotency_outbox'::regclass::oid::bigint";

#[derive(QueryId)]
pub(super) struct Lock(pub(super) i64);

impl QueryFragment<Pg> for Lock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT pg_advisory_xact_lock(");
        out.push_bind_param::<BigInt, _>(&self.0)?;
        out.push_sql(OF_OUTBOX);
        out.push_sql(")");
        Ok(())
    }
}
