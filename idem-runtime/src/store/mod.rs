//! The store of one backend: the trait that the order of the steps is written against, and, in the
//! files beside this one, all SQL.
//!
//! No actix types here or below.

mod blocking;
mod change;
pub(crate) mod inbox;
pub(crate) mod inspect;
pub(crate) mod lease;
#[cfg(feature = "mysql")]
mod mysql;
pub(crate) mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
mod prune;
mod questions;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statement;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use diesel::QueryResult;
use diesel::result::Error;

use crate::horizon::Horizon;
use crate::policy::Isolation;
use crate::response::StoredResponse;
use crate::scope::OperationId;

pub use blocking::BlockingBackend;
#[cfg(feature = "sqlite")]
use blocking::{Hop, Phases};
use prune::{Pruned, Reached};
pub use prune::{Pruner, prune};

/// The connection of a backend that we know: `AsyncPgConnection`, `AsyncMysqlConnection`,
/// `SyncConnectionWrapper<SqliteConnection>`, and [`Blocking`](crate::Blocking) around a connection of diesel
/// itself.
///
/// Nobody else can implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a connection that `#[idempotent]` can work on",
    note = "take `&mut AsyncPgConnection` (feature `postgres`), `&mut AsyncMysqlConnection` \
            (feature `mysql`) or `&mut SyncConnectionWrapper<SqliteConnection>` (feature `sqlite`), \
            and enable the feature of `idem-runtime`",
    note = "on a connection of diesel itself, such as `&mut PgConnection`, write `fn` instead of `async fn`"
)]
pub trait Backend: outbox::Queue {}

/// What the order of the steps is written against; out of reach of handlers.
pub trait Store: Send + Sized + 'static {
    /// What stops a running statement from outside.
    type Canceller;

    /// The database's name in the words of OpenTelemetry.
    const SYSTEM: &'static str;

    /// Whether transactions have a choice of isolation levels.
    const ISOLATION: bool;

    /// Whether whoever writes keeps all others from writing until the end of the transaction.
    const ONE_WRITER: bool;

    /// The isolation of a step's transaction in lease mode. Its last statement must see an owner that has
    /// changed since its first one, and must not fail because the lease was renewed.
    const STEP_ISOLATION: Option<Isolation>;

    /// Whether a panic that cannot be caught would follow from a handler's time-out.
    const NEEDS_UNWINDING: bool;

    /// Whether connections of this kind are set up as we recommend.
    fn is_set_up() -> bool;

    /// Where the connection is that the handler works on. It stays there while a transaction is open.
    fn address(connection: &Self) -> usize {
        address(connection)
    }

    /// Opens a transaction without a claim.
    fn begin(
        connection: &mut Self,
        isolation: Option<Isolation>,
    ) -> impl Future<Output = QueryResult<()>>;

    /// Opens a transaction, claims the key, and looks for its record. Only a free key leaves the
    /// transaction open.
    fn claim(
        connection: &mut Self,
        claim: &Claim,
        isolation: Option<Isolation>,
    ) -> impl Future<Output = QueryResult<Claimed>>;

    /// Looks for a record outside of any transaction.
    fn look(
        connection: &mut Self,
        claim: &Claim,
    ) -> impl Future<Output = QueryResult<Option<Record>>>;

    /// Writes the record into the open transaction and commits both. After an error nothing of the
    /// transaction is left.
    fn record(
        connection: &mut Self,
        record: NewRecord,
    ) -> impl Future<Output = Result<(), CommitError>>;

    /// Rolls the open transaction back and then writes the record alone.
    fn remember(
        connection: &mut Self,
        record: NewRecord,
    ) -> impl Future<Output = Result<(), CommitError>>;

    /// Commits the open transaction, if no statement in it has failed.
    fn commit(connection: &mut Self) -> impl Future<Output = Result<(), CommitError>>;

    /// Rolls the open transaction back.
    fn rollback(connection: &mut Self) -> impl Future<Output = QueryResult<()>>;

    /// What will stop a statement of the handler.
    fn canceller(connection: &Self) -> Self::Canceller;

    /// Ends a transaction whose handler was dropped in the middle of it. The connection must not be
    /// used again.
    fn abandon(connection: &mut Self, canceller: Self::Canceller) -> impl Future<Output = ()>;

    /// Deletes at most `limit` expired records, the oldest first, or the oldest since then.
    fn prune(
        connection: &mut Self,
        since: Option<Reached>,
        limit: u32,
    ) -> impl Future<Output = QueryResult<Pruned>>;
}

/// Where something is.
pub(crate) fn address<C>(connection: &C) -> usize {
    std::ptr::from_ref(connection).addr()
}

/// What is claimed.
#[derive(Debug, Clone)]
pub struct Claim {
    pub(crate) id: OperationId,
    pub(crate) fingerprint_lock: i64,
    pub(crate) scope: Arc<str>,
    pub(crate) key: Arc<str>,
    /// Until when the key is run if there is no record; without one, for ever.
    pub(crate) horizon: Option<Horizon>,
}

/// What a claim found.
#[derive(Debug)]
pub enum Claimed {
    /// The key is ours; `over_expired` says that a record of it has outlived its retention.
    Free {
        /// Whether an expired record has to make room.
        over_expired: bool,
    },
    /// Somebody has recorded this key.
    Recorded(Record),
    /// Somebody has claimed this key in lease mode, for whatever request.
    Pending,
    /// Somebody is running the same request.
    InFlight,
    /// Somebody is running another request with this key.
    KeyHeld,
    /// Nobody has recorded or claimed this key, and it is past its horizon.
    KeyExpired,
}

/// A record as it stands in the database.
#[derive(Debug, Clone)]
pub struct Record {
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) response: StoredResponse,
    /// How old it was when it was looked at, by the database's clock.
    pub(crate) age: Duration,
}

/// A record to be written.
#[derive(Debug)]
pub struct NewRecord {
    pub(crate) claim: Claim,
    pub(crate) endpoint: String,
    /// Shared with the requests that wait for it.
    pub(crate) stored: Arc<Record>,
    pub(crate) retain: Duration,
    pub(crate) over_expired: bool,
}

impl NewRecord {
    /// The retention in milliseconds.
    pub(crate) fn retain_ms(&self) -> i64 {
        i64::try_from(self.retain.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Why nothing was committed, or why nobody knows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Somebody else recorded this key first.
    #[error("the key was recorded by somebody else")]
    Taken,
    /// Nothing is left, because of other transactions: a serialization failure, or a failure that
    /// diesel has no kind for, such as a deadlock. Another run may succeed.
    #[error("the transaction met others and was rolled back")]
    Contended(#[source] Error),
    /// Nothing is left, because another transaction was faster: in a cluster perhaps one of this very key, whose record
    /// is not to be seen here yet. Another run may succeed.
    #[error("another transaction was faster, and this one was rolled back")]
    Overtaken(#[source] Error),
    /// Nothing of the transaction is left.
    #[error("the transaction was rolled back")]
    RolledBack(#[source] Error),
    /// The transaction had ended before, inside a statement of the handler. What the handler wrote
    /// after that may have committed by itself.
    #[error("the transaction had ended behind the handler's back")]
    Vanished(#[source] Error),
    /// The record is larger than the database takes. Nothing of the transaction is left.
    #[error("the record is larger than the database takes")]
    TooLarge(#[source] Error),
    /// The connection was lost before the answer to COMMIT.
    #[error("the outcome of the transaction is unknown")]
    Unknown(#[source] Error),
}

impl CommitError {
    /// The database's error, for whoever has no use for the rest.
    pub(crate) fn into_source(self) -> Error {
        match self {
            Self::Taken => Error::RollbackTransaction,
            Self::Contended(error)
            | Self::Overtaken(error)
            | Self::RolledBack(error)
            | Self::Vanished(error)
            | Self::TooLarge(error)
            | Self::Unknown(error) => error,
        }
    }
}

/// How every record begins, on every backend. The column `key` has a name that MySQL reserves.
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
macro_rules! insert {
    ($key:literal) => {
        concat!(
            "INSERT INTO idempotency_keys (id, scope, ",
            $key,
            ", endpoint, fingerprint, status, headers, body, recorded_at, expires_at) VALUES ("
        )
    };
}
#[cfg(feature = "mysql")]
use insert;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
const INSERT: &str = insert!("key");
