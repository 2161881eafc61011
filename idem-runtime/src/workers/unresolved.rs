//! An unresolved operation, as a reconciler or an operator sees it.
//!
//! No SQL, no verdicts.

use std::time::Duration;

use diesel::QueryResult;
use serde::de::DeserializeOwned;

use crate::key::IdempotencyKey;
use crate::lease::{Finished, KeptRequest, lines};
use crate::policy::Unresolved;
use crate::scope::OperationId;
use crate::seal::{Context, Packing, Unreadable};
use crate::store::lease::{Seen, UnresolvedRow};
use crate::store::{Backend, lease};

/// An operation in lease mode of which nobody knows how it ended.
///
/// Its `Debug` form names neither key nor scope.
pub struct UnresolvedOperation {
    pub(super) seen: Seen,
    key: IdempotencyKey,
    endpoint: String,
    fingerprint: Vec<u8>,
    rule: Unresolved,
    attempts: u32,
    unresolved_for: Duration,
    /// Those whose names can be read.
    steps: Vec<(String, Result<Finished, Unreadable>)>,
    /// Where there are others.
    damaged: Option<Unreadable>,
    /// None where the endpoint keeps none.
    request: Result<Option<KeptRequest>, Unreadable>,
}

impl std::fmt::Debug for UnresolvedOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnresolvedOperation")
            .field("endpoint", &self.endpoint)
            .field("rule", &self.rule)
            .field("attempts", &self.attempts)
            .field("unresolved_for", &self.unresolved_for)
            .finish_non_exhaustive()
    }
}

impl UnresolvedOperation {
    /// None where nobody has ever owned the row: it is locked for good.
    pub(super) fn new(row: UnresolvedRow, packing: &Packing) -> Option<Self> {
        let rule = row.rule();
        let context = Context {
            scope: &row.scope,
            key: &row.key,
            fingerprint: &row.fingerprint,
        };
        let (mut steps, mut damaged) = (Vec::new(), None);
        for line in lines(&row.steps.unwrap_or_default()) {
            match line {
                Ok(line) => steps.push((line.step.clone(), packing.unpack_step(context, line))),
                Err(error) => damaged = Some(error.into()),
            }
        }
        let request = row.request.map(|kept| {
            let kept = packing.unpack_request(context, kept)?;
            KeptRequest::read(&kept).ok_or(Unreadable::Inside)
        });
        let request = request.transpose();
        Some(Self {
            steps,
            damaged,
            request,
            seen: Seen {
                id: OperationId::new(&row.scope, &row.key).row,
                owner: row.owner.as_deref()?.try_into().ok()?,
                lease: row.lease,
            },
            fingerprint: row.fingerprint,
            key: IdempotencyKey::new(row.scope, row.key),
            endpoint: row.endpoint,
            rule,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            unresolved_for: Duration::from_millis(u64::try_from(row.since).unwrap_or_default()),
        })
    }

    /// One that no row stands for.
    pub(crate) fn of_nothing(endpoint: &str, key: IdempotencyKey) -> Self {
        Self {
            seen: Seen {
                id: OperationId::new(&key.scope, &key.key).row,
                owner: [0; 16],
                lease: 0,
            },
            key,
            endpoint: endpoint.to_owned(),
            fingerprint: Vec::new(),
            rule: Unresolved::Hold,
            attempts: 1,
            unresolved_for: Duration::ZERO,
            steps: Vec::new(),
            damaged: None,
            request: Ok(None),
        }
    }

    /// Method and route of the endpoint that ran it; `*` where there is no route.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The client's key, from which the keys that the handler sent to others are
    /// [derived](IdempotencyKey::derive).
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// What a retry may do with it.
    #[must_use]
    pub fn rule(&self) -> Unresolved {
        self.rule
    }

    /// How often a worker has looked at it.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long ago its lease ended, by the database's clock.
    #[must_use]
    pub fn unresolved_for(&self) -> Duration {
        self.unresolved_for
    }

    /// The names of its finished steps, in their order.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|(step, _)| &**step)
    }

    /// The result of a finished step; `None` if there is no such step, and nothing of the steps is damaged.
    ///
    /// # Errors
    ///
    /// The result is not a `T`, or it is [sealed](crate::Builder::seal) and was not opened.
    pub fn step<T: DeserializeOwned>(&self, name: &str) -> Option<serde_json::Result<T>> {
        match self.steps.iter().find(|(step, _)| step == name) {
            Some((_, Ok(finished))) => Some(serde_json::from_str(finished.result.get())),
            Some((_, Err(unreadable))) => Some(Err(serde::de::Error::custom(unreadable))),
            None => self
                .damaged
                .as_ref()
                .map(|error| Err(serde::de::Error::custom(error))),
        }
    }

    /// The accepted request, where the endpoint keeps it, unless it is [sealed](crate::Builder::seal) and was not opened.
    #[must_use]
    pub fn request(&self) -> Option<&KeptRequest> {
        self.request.as_ref().ok()?.as_ref()
    }

    /// Why what is kept of it cannot be read.
    pub(super) fn unreadable(&self) -> Option<&Unreadable> {
        let of_request = self.request.as_ref().err().into_iter();
        let of_steps = self
            .steps
            .iter()
            .filter_map(|(_, step)| step.as_ref().err());
        of_request.chain(of_steps).chain(&self.damaged).next()
    }

    /// Whether no process will ever read what is kept of it.
    pub(super) fn is_unreadable_for_good(&self) -> bool {
        self.unreadable()
            .is_some_and(|error| !error.is_of_the_process())
    }

    /// Whether another process may read what this one cannot.
    pub(super) fn is_unreadable_here(&self) -> bool {
        self.unreadable().is_some_and(Unreadable::is_of_the_process)
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            scope: self.key.scope(),
            key: self.key.as_str(),
            fingerprint: &self.fingerprint,
        }
    }
}

/// The unresolved operations, the longest unresolved first, at most `limit`: for an operator's list. What is sealed is
/// not opened.
///
/// # Errors
///
/// The database's error.
pub async fn unresolved<C: Backend>(
    connection: &mut C,
    limit: u32,
) -> QueryResult<Vec<UnresolvedOperation>> {
    let rows = lease::unresolved(connection, limit).await?;
    let packing = Packing::of_nobody();
    Ok(rows
        .into_iter()
        .filter_map(|row| UnresolvedOperation::new(row, &packing))
        .collect())
}

/// The operation with this scope, as it stands in the table, and this key, if it is unresolved: for an operator who
/// [settles](crate::settle) it. What is sealed is not opened.
///
/// # Errors
///
/// The database's error.
pub async fn unresolved_operation<C: Backend>(
    connection: &mut C,
    scope: &str,
    key: &str,
) -> QueryResult<Option<UnresolvedOperation>> {
    let row = lease::unresolved_one(connection, OperationId::new(scope, key).row).await?;
    let row = row.filter(|row| row.scope == scope && row.key == key);
    Ok(row.and_then(|row| UnresolvedOperation::new(row, &Packing::of_nobody())))
}
