//! PostgreSQL over libpq, on a thread that may block: the same statements, one after the other.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};
use uuid::Uuid;

use super::outbox::{Lock as StreamLock, Notify, requeued};
use super::prune::{Prune, PruneSince, pruned};
use super::{DeleteExpired, Insert, Lock, Look, LookAndClock, NoFailure, is_taken, lock, look};
use crate::defects::{Defect, is_seeded};
use crate::policy::Isolation;
use crate::store::blocking::{Hop, Phases};
use crate::store::lease::Pending;
use crate::store::prune::{Pruned, Reached};
use crate::store::questions::{answers, questions};
use crate::store::row::{self, Seen};
use crate::store::statement::Statement;
use crate::store::{BlockingBackend, Claim, Claimed, CommitError, NewRecord, Record};
use crate::transaction::postgres::blocking as transaction;
use crate::transaction::server as limits;

impl RunQueryDsl<PgConnection> for Lock {}
impl RunQueryDsl<PgConnection> for Look {}
impl RunQueryDsl<PgConnection> for LookAndClock {}
impl RunQueryDsl<PgConnection> for NoFailure {}
impl RunQueryDsl<PgConnection> for DeleteExpired {}
impl RunQueryDsl<PgConnection> for Insert<'_> {}
impl RunQueryDsl<PgConnection> for Prune {}
impl RunQueryDsl<PgConnection> for PruneSince {}
impl RunQueryDsl<PgConnection> for StreamLock {}
impl RunQueryDsl<PgConnection> for Notify {}

#[diagnostic::do_not_recommend]
impl BlockingBackend for PgConnection {}

impl Phases for PgConnection {
    const SYSTEM: &'static str = "postgresql";

    const ISOLATION: bool = true;

    const ONE_WRITER: bool = false;

    const STEP_ISOLATION: Option<Isolation> = Some(Isolation::ReadCommitted);

    const TELLS: bool = true;

    const CHANGES_AT_ONCE: bool = true;

    const OPENING: Duration = limits::OPENING;

    const COMMITTING: Duration = limits::COMMITTING;

    fn is_set_up() -> bool {
        crate::pool::setup::POSTGRES.is_asked_for()
    }

    fn begin(&mut self, isolation: Option<Isolation>) -> QueryResult<()> {
        transaction::begin(self, isolation)
    }

    fn claim(&mut self, claim: &Claim, isolation: Option<Isolation>) -> QueryResult<Claimed> {
        transaction::begin(self, isolation)?;
        let (locked, seen) = locked_and_looked(self, claim)?;
        let claimed = row::judge(claim, locked, seen)?;
        if !matches!(claimed, Claimed::Free { .. }) {
            transaction::rollback(self)?;
        }
        Ok(claimed)
    }

    /// A connection on which it fails is given up: there is no transaction by which its pool could tell.
    fn look(&mut self, claim: &Claim) -> QueryResult<Option<Record>> {
        let found = look(claim).get_result(self).optional();
        if found.is_err() {
            transaction::give_up(self);
        }
        row::record(claim, found?)
    }

    fn record(&mut self, record: &NewRecord) -> Result<(), CommitError> {
        transaction::still_open(self)?;
        transaction::commit_with(self, |connection| write(connection, record))
            .map_err(|failure| failure.judge(is_taken))
    }

    fn remember(&mut self, record: &NewRecord) -> Result<(), CommitError> {
        transaction::still_open(self)?;
        transaction::rollback_with(self, |connection| write(connection, record))
            .map_err(|failure| failure.judge(is_taken))
    }

    fn commit(&mut self) -> Result<(), CommitError> {
        transaction::still_open(self)?;
        transaction::commit_with(self, |connection| NoFailure.execute(connection).map(drop))
            .map_err(|failure| failure.judge(is_taken))
    }

    fn rollback(&mut self) -> QueryResult<()> {
        transaction::rollback(self)
    }

    fn abandon(&mut self) -> QueryResult<()> {
        let rolled_back = transaction::rollback(self);
        transaction::give_up(self);
        rolled_back
    }

    async fn prune<H: Hop<Connection = Self>>(
        connection: &mut H,
        since: Option<Reached>,
        limit: u32,
    ) -> QueryResult<Pruned> {
        let limit = i64::from(limit);
        let answer = connection.hop(move |connection| match since {
            None => Prune { limit }.get_result(connection),
            Some(since) => PruneSince::of(since, limit).get_result(connection),
        });
        Ok(pruned(answer.await?))
    }

    fn pend(&mut self, pending: Pending) -> Result<(), CommitError> {
        let Pending {
            id,
            insert,
            over_expired,
        } = pending;
        transaction::commit_with(self, |connection| {
            insert_over(connection, id, over_expired, insert)
        })
        .map_err(|failure| failure.judge(is_taken))
    }

    fn read_committed(&mut self) -> QueryResult<()> {
        self.batch_execute(super::lease::READ_COMMITTED)
    }

    fn execute(&mut self, statement: Statement) -> QueryResult<usize> {
        RunQueryDsl::execute(statement, self)
    }

    fn conclude(&mut self, statement: Statement) -> Result<bool, CommitError> {
        match RunQueryDsl::execute(statement, self) {
            Ok(0) => {
                if let Err(error) = transaction::rollback(self) {
                    tracing::warn!(%error, "rollback failed");
                }
                Ok(false)
            }
            Ok(_) => self.commit().map(|()| true),
            // The pool closes the connection.
            Err(error) => Err(CommitError::RolledBack(error)),
        }
    }

    fn queue(&mut self, lock: Option<i64>, insert: Statement) -> QueryResult<usize> {
        transaction::inside(self)?;
        if let Some(number) = lock {
            StreamLock(number).execute(self)?;
        }
        RunQueryDsl::execute(insert, self)
    }

    fn requeue(&mut self, lock: Option<i64>, id: Uuid) -> QueryResult<usize> {
        RunQueryDsl::execute(requeued(lock, id), self)
    }

    fn wake(&mut self) -> QueryResult<()> {
        Notify.execute(self).map(drop)
    }

    questions! { leases answers }
    questions! { queue answers }
}

/// The lock first, so that the look's snapshot is newer.
fn locked_and_looked(
    connection: &mut PgConnection,
    claim: &Claim,
) -> QueryResult<(Option<bool>, Seen)> {
    if is_seeded(Defect::LookBeforeLock) {
        let seen = seen(connection, claim)?;
        return Ok((lock(claim).get_result(connection)?, seen));
    }
    let locked = lock(claim).get_result(connection)?;
    Ok((locked, seen(connection, claim)?))
}

/// What is there behind the lock, in one statement.
fn seen(connection: &mut PgConnection, claim: &Claim) -> QueryResult<Seen> {
    match claim.horizon {
        Some(_) => {
            let seen = LookAndClock(look(claim)).get_result(connection);
            seen.map(|(row, now)| Seen::from((row, now)))
        }
        None => {
            let row = look(claim).get_result(connection).optional();
            row.map(Seen::from)
        }
    }
}

fn write(connection: &mut PgConnection, record: &NewRecord) -> QueryResult<()> {
    let insert = Insert::of(record);
    insert_over(connection, record.claim.id.row, record.over_expired, insert)
}

/// An INSERT, behind the removal of the expired row that is in its way. Only the INSERT tells how it ended.
fn insert_over(
    connection: &mut PgConnection,
    id: [u8; 16],
    over_expired: bool,
    insert: impl QueryFragment<Pg> + QueryId + RunQueryDsl<PgConnection>,
) -> QueryResult<()> {
    let id = uuid::Uuid::from_bytes(id);
    if over_expired && let Err(error) = DeleteExpired(id).execute(connection) {
        tracing::warn!(%error, "an expired record could not be removed");
    }
    insert.execute(connection).map(drop)
}
