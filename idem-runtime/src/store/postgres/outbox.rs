//! The outbox on PostgreSQL: how its statements are run, and how a relay is woken.

use std::pin::pin;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::BigInt;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::{StreamExt, try_join};

use super::lease::{asked, questions};
use crate::store::outbox::{DeadRow, Queue, TakenRow};
use crate::store::statement::{
    BacklogQuery, DeadQuery, DueQuery, LookQuery, Statement, TakenQuery,
};
use crate::transaction::postgres as transaction;

impl Queue for AsyncPgConnection {
    const WAKES: bool = true;

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

    questions! {
        heads(LookQuery) -> (String, i64, bool);
        take(TakenQuery) -> TakenRow;
        dead(DeadQuery) -> DeadRow;
        due(DueQuery) -> (bool, Option<i64>);
        backlog(BacklogQuery) -> (i64, Option<i64>);
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

#[derive(QueryId)]
pub(super) struct Lock(pub(super) i64);

impl QueryFragment<Pg> for Lock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT pg_advisory_xact_lock(");
        out.push_bind_param::<BigInt, _>(&self.0)?;
        out.push_sql(" # 'idempotency_outbox'::regclass::oid::bigint)");
        Ok(())
    }
}
