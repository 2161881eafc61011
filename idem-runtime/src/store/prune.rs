//! Deleting expired records: the rule of how a batch goes on from the one before. The statements are
//! the backends'.

use diesel::QueryResult;

use super::Backend;

/// Deletes expired records in batches, and remembers how far it has come.
///
/// The memory is for speed alone. On PostgreSQL a deleted row stays in the index until VACUUM has
/// been there, and VACUUM has to leave it while any older transaction is open, such as that of a
/// backup. Without a memory every batch would walk over all that the batches before it have deleted.
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # async fn job(conn: &mut diesel_async::AsyncPgConnection) -> diesel::QueryResult<()> {
/// let mut pruner = idem_runtime::Pruner::new();
/// while pruner.batch(conn, 1_000).await? == 1_000 {}
/// # Ok(())
/// # }
/// ```
///
/// Any number of pruners may work at once, in one process or several, beside running requests: they
/// share the work, and none waits for another. A pruner may be kept from one run of a job to the
/// next, and moved to another connection of the same database.
#[derive(Debug, Default)]
pub struct Pruner {
    reached: Option<Reached>,
}

impl Pruner {
    /// One that has not deleted anything yet.
    pub const fn new() -> Self {
        Self { reached: None }
    }

    /// Deletes at most `limit` expired records, and says how many it deleted. Fewer than `limit`
    /// means that there were no more, save those that somebody else has locked.
    ///
    /// A batch of 1,000 keeps the transaction short. Rows without a recorded response are never
    /// deleted.
    ///
    /// # Errors
    ///
    /// The database's error. Records may have been deleted that were not counted.
    pub async fn batch<C: Backend>(
        &mut self,
        connection: &mut C,
        limit: u32,
    ) -> QueryResult<usize> {
        let ahead = C::prune(connection, self.reached, limit).await?;
        let missing = limit.saturating_sub(ahead.count);
        let behind = match self.reached {
            Some(_) if missing > 0 => C::prune(connection, None, missing).await?,
            _ => Pruned::default(),
        };
        self.reached = behind.reached.or(ahead.reached).or(self.reached);
        Ok((ahead.count + behind.count) as usize)
    }
}

/// Deletes at most `limit` expired records, and says how many it deleted.
///
/// One batch by itself. To delete all there is, call [`Pruner::batch`] in a loop: each call of this
/// function begins anew.
///
/// # Errors
///
/// The database's error; nothing was deleted then.
pub async fn prune<C: Backend>(connection: &mut C, limit: u32) -> QueryResult<usize> {
    Pruner::new().batch(connection, limit).await
}

/// The latest `expires_at` that a statement has deleted, as its backend counts time.
#[derive(Debug, Clone, Copy)]
pub struct Reached(pub(super) i64);

/// What one statement has deleted.
#[derive(Debug, Default)]
pub struct Pruned {
    pub(super) count: u32,
    /// Where the next statement may begin; nothing where every statement begins at what is left.
    pub(super) reached: Option<Reached>,
}
