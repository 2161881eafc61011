//! The outbox on MySQL and MariaDB: how its statements are run.

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{AsyncMysqlConnection, RunQueryDsl};

use super::lease::{asked, questions};
use crate::store::outbox::{DeadRow, Queue, TakenRow};
use crate::store::statement::{
    BacklogQuery, DeadQuery, DueQuery, LookQuery, Statement, TakenQuery,
};
use crate::transaction::mysql as transaction;

impl Queue for AsyncMysqlConnection {
    const WAKES: bool = false;

    async fn queue(
        connection: &mut Self,
        _lock: Option<i64>,
        insert: Statement,
    ) -> QueryResult<usize> {
        transaction::inside(connection)?;
        match insert.execute(connection).await {
            Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)) => Ok(0),
            inserted => inserted,
        }
    }

    questions! {
        heads(LookQuery) -> (String, i64, bool);
        take(TakenQuery) -> TakenRow;
        dead(DeadQuery) -> DeadRow;
        due(DueQuery) -> (bool, Option<i64>);
        backlog(BacklogQuery) -> (i64, Option<i64>);
    }

    async fn listen(_: &mut Self, _: impl Fn()) -> QueryResult<()> {
        Ok(())
    }
}
