//! MySQL and MariaDB over libmysqlclient, on a thread that may block: the same statements, one after the other.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_query;
use uuid::Uuid;

use super::outbox::{requeued, turn, unless_there};
use super::{DeleteExpired, Lock, Look, LookAndClock, lease, prune, record_sql};
use crate::defects::{Defect, is_seeded};
use crate::policy::Isolation;
use crate::store::blocking::{Hop, Phases};
use crate::store::lease::Pending;
use crate::store::prune::{Pruned, Reached};
use crate::store::questions::questions;
use crate::store::row::{self, Row, Seen, judge};
use crate::store::statement::Statement;
use crate::store::{BlockingBackend, Claim, Claimed, CommitError, NewRecord, Record};
use crate::transaction::mysql::blocking as transaction;
use crate::transaction::server as limits;

impl RunQueryDsl<MysqlConnection> for Lock {}
impl RunQueryDsl<MysqlConnection> for Look {}
impl RunQueryDsl<MysqlConnection> for LookAndClock {}
impl RunQueryDsl<MysqlConnection> for DeleteExpired {}

#[diagnostic::do_not_recommend]
impl BlockingBackend for MysqlConnection {}

/// As the others answer; see [`asked`].
macro_rules! answers {
    ($($name:ident($query:ty) -> $row:ty;)+) => {$(
        fn $name(&mut self, query: $query) -> QueryResult<Vec<$row>> {
            asked(self, |connection| query.get_results(connection))
        }
    )+};
}

impl Phases for MysqlConnection {
    const SYSTEM: &'static str = "mysql";

    const ISOLATION: bool = true;

    const ONE_WRITER: bool = false;

    const STEP_ISOLATION: Option<Isolation> = Some(Isolation::ReadCommitted);

    const TELLS: bool = false;

    const CHANGES_AT_ONCE: bool = false;

    const OPENING: Duration = limits::OPENING;

    const COMMITTING: Duration = limits::COMMITTING;

    fn is_set_up() -> bool {
        crate::pool::setup::MYSQL.is_asked_for()
    }

    fn begin(&mut self, isolation: Option<Isolation>) -> QueryResult<()> {
        transaction::open(self)?;
        transaction::begin(self, isolation).map_err(|error| transaction::refused(self, error))
    }

    fn claim(&mut self, claim: &Claim, isolation: Option<Isolation>) -> QueryResult<Claimed> {
        transaction::open(self)?;
        let claimed = match locked_and_looked(self, claim) {
            Ok((locked, found)) => judge(claim, locked.map(|locked| locked == 1), found)?,
            Err(error) => return Err(transaction::refused(self, error)),
        };
        match claimed {
            Claimed::Free { over_expired } => {
                if over_expired {
                    DeleteExpired(claim.id.row).execute(self)?;
                }
                transaction::begin(self, isolation)?;
                Ok(Claimed::Free {
                    over_expired: false,
                })
            }
            claimed => {
                transaction::unlock(self)?;
                Ok(claimed)
            }
        }
    }

    fn look(&mut self, claim: &Claim) -> QueryResult<Option<Record>> {
        match look(claim, self) {
            Ok(found) => row::record(claim, found),
            Err(error) => Err(transaction::refused(self, error)),
        }
    }

    fn record(&mut self, record: &NewRecord) -> Result<(), CommitError> {
        transaction::end_with(self, |connection| write(connection, record))
    }

    fn remember(&mut self, record: &NewRecord) -> Result<(), CommitError> {
        transaction::end_with(self, |connection| {
            connection.batch_execute("ROLLBACK; START TRANSACTION")?;
            write(connection, record)
        })
    }

    fn commit(&mut self) -> Result<(), CommitError> {
        transaction::end_with(self, |_| Ok(()))
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
        _: Option<Reached>,
        limit: u32,
    ) -> QueryResult<Pruned> {
        prune::prune(connection, limit).await
    }

    fn pend(&mut self, pending: Pending) -> Result<(), CommitError> {
        self.conclude(pending.insert).map(drop)
    }

    fn read_committed(&mut self) -> QueryResult<()> {
        asked(self, |connection| {
            connection.batch_execute(lease::READ_COMMITTED)
        })
    }

    fn execute(&mut self, statement: Statement) -> QueryResult<usize> {
        asked(self, |connection| {
            RunQueryDsl::execute(statement, connection)
        })
    }

    fn conclude(&mut self, statement: Statement) -> Result<bool, CommitError> {
        let concluded =
            transaction::prove(self).and_then(|()| RunQueryDsl::execute(statement, self));
        match concluded {
            Ok(0) => {
                if let Err(error) = transaction::rollback(self) {
                    tracing::warn!(%error, "rollback failed");
                }
                Ok(false)
            }
            Ok(_) => transaction::end(self).map(|()| true),
            Err(error) => Err(transaction::failed(self, error).judge_message()),
        }
    }

    fn queue(&mut self, lock: Option<i64>, insert: Statement) -> QueryResult<usize> {
        transaction::inside(self)?;
        take_turns(self, lock)?;
        unless_there(RunQueryDsl::execute(insert, self))
    }

    fn requeue(&mut self, lock: Option<i64>, id: Uuid) -> QueryResult<usize> {
        if transaction::inside(self).is_ok() {
            return requeue(self, lock, id);
        }
        self.begin(None)?;
        match requeue(self, lock, id) {
            Ok(requeued) => match self.commit() {
                Ok(()) => Ok(requeued),
                Err(error) => Err(error.into_source()),
            },
            Err(error) => {
                transaction::rollback(self)?;
                Err(error)
            }
        }
    }

    fn wake(&mut self) -> QueryResult<()> {
        Ok(())
    }

    questions! { leases answers }
    questions! { queue answers }
}

/// Asks it one thing. A connection on which something failed is given up: it may be a dead one, which diesel does
/// not notice here.
fn asked<T>(
    connection: &mut MysqlConnection,
    question: impl FnOnce(&mut MysqlConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    let answer = question(connection);
    if answer.is_err() {
        transaction::give_up(connection);
    }
    answer
}

/// The lock first, so that the look sees what its last holder has committed.
fn locked_and_looked(
    connection: &mut MysqlConnection,
    claim: &Claim,
) -> QueryResult<(Option<i64>, Seen)> {
    if is_seeded(Defect::LookBeforeLock) {
        let found = seen(claim, connection)?;
        return Ok((Lock::of(claim).get_result(connection)?, found));
    }
    let locked = Lock::of(claim).get_result(connection)?;
    Ok((locked, seen(claim, connection)?))
}

/// What is there behind the lock, in one statement.
fn seen(claim: &Claim, connection: &mut MysqlConnection) -> QueryResult<Seen> {
    if claim.horizon.is_none() {
        return look(claim, connection).map(Seen::from);
    }
    let seen = LookAndClock(Look(claim.id.row)).get_result(connection);
    seen.map(|(row, now)| Seen::from((row, now)))
}

fn look(claim: &Claim, connection: &mut MysqlConnection) -> QueryResult<Option<Row>> {
    Look(claim.id.row).get_result(connection).optional()
}

/// The text is a new one each time, and not kept as a prepared statement.
fn write(connection: &mut MysqlConnection, record: &NewRecord) -> QueryResult<()> {
    sql_query(record_sql(record)).execute(connection).map(drop)
}

fn requeue(connection: &mut MysqlConnection, lock: Option<i64>, id: Uuid) -> QueryResult<usize> {
    take_turns(connection, lock)?;
    connection.execute(requeued(id))
}

fn take_turns(connection: &mut MysqlConnection, lock: Option<i64>) -> QueryResult<()> {
    match lock {
        Some(number) => RunQueryDsl::execute(turn(number), connection).map(drop),
        None => Ok(()),
    }
}
