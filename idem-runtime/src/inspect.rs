//! Looking at what stands in the tables: for operators, and for their tools. Nothing here changes a row.
//!
//! Each of these asks for one thing, outside of a transaction or inside of one, and may be dropped at any time; an
//! answer that a server owes for longer than ten seconds is an error.
//!
//! No SQL.

use std::time::Duration;

use diesel::QueryResult;
use diesel::result::Error;
use uuid::Uuid;

use crate::lease::names;
use crate::scope::OperationId;
use crate::seal::Packing;
use crate::store::inspect::{self, OperationRow, Which};
use crate::store::{Backend, lease};
use crate::workers::RecordedResponse;

/// What an operation is, by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationState {
    /// Its response is recorded, and honoured.
    Recorded,
    /// Its response is not honoured any more: the row may be pruned.
    Expired,
    /// In lease mode: somebody is working on it.
    Running,
    /// In lease mode: nobody knows how it ended. See [`unresolved`](crate::unresolved()).
    Unresolved,
    /// Without a record, and claimed by nobody. The runtime writes no such row, and settles none.
    Stuck,
}

impl OperationState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Recorded,
        Self::Expired,
        Self::Running,
        Self::Unresolved,
        Self::Stuck,
    ];

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Expired => "expired",
            Self::Running => "running",
            Self::Unresolved => "unresolved",
            Self::Stuck => "stuck",
        }
    }
}

/// An operation as it stands in the table, without its response.
///
/// Its `Debug` form names neither key nor scope.
#[derive(Clone)]
#[non_exhaustive]
pub struct Operation {
    /// The row's id, a digest of scope and key.
    pub id: Uuid,
    /// The namespace in which the key is unique.
    pub scope: String,
    /// The client's key.
    pub key: String,
    /// Method and route of the endpoint that ran it; `*` where there is no route.
    pub endpoint: String,
    /// What it is.
    pub state: OperationState,
    /// The status of the recorded response.
    pub status: Option<u16>,
    /// In lease mode, what a retry may do once the lease has run out: `hold`, `rerun`, or `released`.
    pub rule: Option<String>,
    /// In lease mode, the names of its finished steps, in their order.
    pub steps: Vec<String>,
    /// In lease mode, how often a worker has looked at it.
    pub attempts: u32,
    /// How many bytes the body of the recorded response has.
    pub body_size: Option<u64>,
    /// How long ago its response was recorded.
    pub recorded_for: Option<Duration>,
    /// For how long its response is honoured yet. Zero where that is over.
    pub expires_in: Option<Duration>,
    /// For how long its response was to be honoured when it was recorded.
    pub retain: Option<Duration>,
    /// In lease mode, how long ago its lease ended.
    pub lease_ended_for: Option<Duration>,
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation")
            .field("id", &self.id)
            .field("endpoint", &self.endpoint)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Operation {
    fn new(row: OperationRow) -> QueryResult<Self> {
        let mut states = OperationState::ALL.into_iter();
        let state = states.find(|state| state.name() == row.state);
        let retain = row
            .recorded
            .zip(row.expired)
            .map(|(recorded, expired)| recorded - expired);
        Ok(Self {
            id: Uuid::from_slice(&row.id).map_err(unreadable)?,
            scope: row.scope,
            key: row.key,
            endpoint: row.endpoint,
            state: state.ok_or(Error::NotFound)?,
            status: row.status.and_then(|status| status.try_into().ok()),
            rule: row.unresolved,
            steps: names(&row.steps.unwrap_or_default()).collect(),
            attempts: row.attempts.try_into().unwrap_or(u32::MAX),
            body_size: row.body.and_then(|size| size.try_into().ok()),
            recorded_for: row.recorded.map(length),
            expires_in: row.expired.map(|expired| length(-expired)),
            retain: retain.map(length),
            lease_ended_for: row.lease.filter(|lease| *lease >= 0).map(length),
        })
    }
}

/// Nothing where that is still to come.
fn length(milliseconds: i64) -> Duration {
    Duration::from_millis(milliseconds.try_into().unwrap_or_default())
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::DeserializationError(Box::new(error))
}

/// Which operations are wanted, and how much of each: all, unless it says less.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Those of this scope, as it stands in the table.
    pub scope: Option<String>,
    /// Those of this endpoint.
    pub endpoint: Option<String>,
    /// Those in this state.
    pub state: Option<OperationState>,
    /// Without [`steps`](Operation::steps) and [`body_size`](Operation::body_size), which are then as of an operation
    /// that has none: a database may have to read the results of all steps, and the body, to tell them.
    pub is_brief: bool,
}

/// The operations behind this [id](Operation::id), or the first ones: at most `limit`, in the order of their ids.
/// A page that is shorter is the last one.
///
/// Ids are digests, so that the order means nothing, and a page of all operations is a random sample of the table.
/// What is pending is found by an index; a scope or an endpoint is looked for row by row.
///
/// # Errors
///
/// The database's error.
pub async fn operations<C: Backend>(
    conn: &mut C,
    filter: &Filter,
    after: Option<Uuid>,
    limit: u32,
) -> QueryResult<Vec<Operation>> {
    let which = Which {
        id: None,
        after: after.map(Uuid::into_bytes),
        scope: filter.scope.as_deref(),
        endpoint: filter.endpoint.as_deref(),
        state: filter.state,
        is_brief: filter.is_brief,
    };
    let rows = inspect::operations(conn, &which, limit).await?;
    rows.into_iter().map(Operation::new).collect()
}

/// The operation with this scope, as it stands in the table, and this key.
///
/// # Errors
///
/// The database's error.
pub async fn operation<C: Backend>(
    conn: &mut C,
    scope: &str,
    key: &str,
) -> QueryResult<Option<Operation>> {
    let which = Which {
        id: Some(OperationId::new(scope, key).row),
        ..Which::default()
    };
    let row = inspect::operations(conn, &which, 1).await?.pop();
    // As a claim does: two digests could be equal.
    let row = row.filter(|row| row.scope == scope && row.key == key);
    row.map(Operation::new).transpose()
}

/// The recorded response of this scope and key, whether it is still honoured or not.
///
/// # Errors
///
/// The database's error, or that what is recorded cannot be read, because it is sealed or damaged.
pub async fn response<C: Backend>(
    conn: &mut C,
    scope: &str,
    key: &str,
) -> QueryResult<Option<RecordedResponse>> {
    let state = lease::state(conn, OperationId::new(scope, key).row).await?;
    let Some(mut state) = state.filter(|state| state.scope == scope && state.key == key) else {
        return Ok(None);
    };
    let Some(stored) = state.take_response() else {
        return Ok(None);
    };
    let packing = Packing::of_nobody();
    let response = packing
        .unpack(state.context(), &stored)
        .map_err(unreadable)?;
    RecordedResponse::of_stored(&response)
        .map(Some)
        .map_err(unreadable)
}

/// How many there are of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// For how long the oldest has been one, by the database's clock.
    pub oldest: Option<Duration>,
}

impl Amount {
    fn new((count, oldest): (i64, Option<i64>)) -> Self {
        Self {
            count: count.try_into().unwrap_or_default(),
            oldest: oldest.map(length),
        }
    }
}

/// How many operations are in this state: of [`Expired`](OperationState::Expired) since they expired, of
/// [`Unresolved`](OperationState::Unresolved) since their leases ended. Both are found by an index, and so are those
/// that are running or [`Stuck`](OperationState::Stuck); of these one is not counted that has a time at which it expires,
/// as nothing of the runtime's has without a record.
///
/// # Errors
///
/// The database's error.
pub async fn count<C: Backend>(conn: &mut C, state: OperationState) -> QueryResult<Amount> {
    inspect::count(conn, state).await.map(Amount::new)
}

/// How many messages of the [outbox](crate::outbox) are due and taken by no relay, and for how long.
///
/// # Errors
///
/// The database's error.
pub async fn overdue_messages<C: Backend>(conn: &mut C) -> QueryResult<Amount> {
    inspect::overdue(conn).await.map(Amount::new)
}

/// How many messages of the [outbox](crate::outbox) were given up, and since when.
///
/// # Errors
///
/// The database's error.
pub async fn dead_messages<C: Backend>(conn: &mut C) -> QueryResult<Amount> {
    inspect::dead(conn).await.map(Amount::new)
}

/// What the database's clock says, as the time since 1970.
///
/// # Errors
///
/// The database's error.
pub async fn clock<C: Backend>(conn: &mut C) -> QueryResult<Duration> {
    inspect::clock(conn).await.map(length)
}
