//! From a named operation to the word on it: ours to run, recorded, or refused. The table of this
//! process is asked first, then the database.
//!
//! No SQL, no handlers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use crate::inflight::{Entered, First};
use crate::operation::{Keyed, Operation, Refusal};
use crate::policy::InFlight;
use crate::pool::{self, Loan};
use crate::problem::Problem;
use crate::reach::{Reach, Unreached};
use crate::store::lease::{self, State};
use crate::store::{Backend, Claimed, Record};
use crate::telemetry::Phase;

/// The word on an operation.
pub(crate) enum Settled<C> {
    /// The claim is ours, and its transaction is open.
    Ours(Ours<C>),
    /// There is a record, of whatever fingerprint.
    Recorded(Arc<Record>),
    /// Somebody has claimed this request in lease mode, and the lease has run out.
    Stale(State, First),
}

/// A claim: the open transaction, and the place in this process's table.
pub(crate) struct Ours<C> {
    // First, so that it is back in the pool before the next request of the key is let in.
    pub(crate) connection: Loan<C>,
    pub(crate) over_expired: bool,
    first: First,
}

impl<C> Ours<C> {
    /// Gives the connection back and keeps the place.
    pub(crate) fn give_back(self) -> First {
        drop(self.connection);
        self.first
    }

    /// The connection with its open transaction, whether an expired record has to make room, and the
    /// place.
    pub(crate) fn into_parts(self) -> (Loan<C>, bool, First) {
        (self.connection, self.over_expired, self.first)
    }

    /// Closes the connection; the next request of the key is let in.
    pub(crate) fn discard(self) {
        pool::discard(self.connection);
    }
}

/// Claims, or says why not. `held` is the place that an earlier run of this request still has.
pub(crate) async fn settle<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    mut held: Option<First>,
    patience: &mut Patience,
) -> Result<Settled<C>, Refusal> {
    let isolation = match operation.policy.lease {
        Some(_) => C::STEP_ISOLATION,
        None => operation.policy.isolation,
    };
    let mut reach = operation.reach();
    loop {
        let entered = match held.take() {
            Some(first) => Entered::First(first),
            None => enter(operation, keyed, reach.deadline()).await?,
        };
        match entered {
            Entered::First(first) => {
                let claim =
                    async |connection: &mut C| C::claim(connection, &keyed.claim, isolation).await;
                let asking = reach.ask(claim);
                let (connection, claimed) = operation.tally.timed(Phase::Claim, asking).await?;
                match claimed {
                    Claimed::Free { over_expired } => {
                        first.running();
                        return Ok(Settled::Ours(Ours {
                            connection,
                            over_expired,
                            first,
                        }));
                    }
                    Claimed::Recorded(record) => {
                        let record = Arc::new(record);
                        first.recorded(Arc::clone(&record));
                        return Ok(Settled::Recorded(record));
                    }
                    Claimed::KeyHeld => return Err(Problem::key_reused().into()),
                    Claimed::KeyExpired => return Err(Problem::key_expired().into()),
                    Claimed::InFlight => {
                        drop(connection);
                        first.elsewhere();
                        patience.pause(operation, keyed).await?;
                    }
                    Claimed::Pending => {
                        drop(connection);
                        // The row that is judged is the one that may be taken over: fingerprint and owner
                        // are of one look.
                        match state(&mut reach, keyed).await? {
                            Some(state) if !operation.is_of(keyed, &state.fingerprint)? => {
                                return Err(Problem::key_reused().into());
                            }
                            Some(state) if state.ended => return Ok(Settled::Stale(state, first)),
                            Some(_) => {
                                first.elsewhere();
                                patience.pause(operation, keyed).await?;
                            }
                            // It has ended between the two looks.
                            None => held = Some(first),
                        }
                    }
                }
            }
            Entered::Recorded(record) => return Ok(Settled::Recorded(record)),
            Entered::KeyHeld => return Err(Problem::key_reused().into()),
            Entered::Behind(first) => {
                if let Some(record) = patience.outlast(operation, keyed, first.over()).await? {
                    return Ok(Settled::Recorded(record));
                }
            }
            Entered::Elsewhere => patience.pause(operation, keyed).await?,
        }
        reach.after_waiting();
    }
}

/// What is to be known of a pending row; nothing if it is pending no more.
async fn state<C: Backend>(
    reach: &mut Reach<'_, C>,
    keyed: &Keyed,
) -> Result<Option<State>, Unreached> {
    let id = keyed.claim.id.row;
    let (_, state) = reach
        .ask(async |connection| lease::state(connection, id).await)
        .await?;
    Ok(state.filter(State::is_pending))
}

/// A place in the table, or the word on the key, within the time in which the store must be reached.
async fn enter<C: Backend>(
    operation: &Operation<C>,
    keyed: &Keyed,
    deadline: Instant,
) -> Result<Entered, Problem> {
    let flights = &operation.settings.flights;
    let entered = flights.enter(keyed.claim.id.row, &keyed.fingerprint);
    timeout_at(deadline, entered).await.map_err(|_| {
        tracing::error!(
            endpoint = operation.endpoint,
            "the first request of the key got no word"
        );
        Problem::store_unavailable()
    })
}

/// Opens a transaction without a claim, for a request without a key.
pub(crate) async fn begin<C: Backend>(operation: &Operation<C>) -> Result<Loan<C>, Problem> {
    let isolation = operation.policy.isolation;
    let begin = async |connection: &mut C| C::begin(connection, isolation).await;
    let (connection, ()) = operation.reach().ask(begin).await?;
    Ok(connection)
}

/// How long a duplicate waits for its first attempt; it holds no connection meanwhile.
pub(crate) struct Patience {
    until: Option<Instant>,
    pause: Duration,
}

impl Patience {
    const FIRST_PAUSE: Duration = Duration::from_millis(25);
    const LONGEST_PAUSE: Duration = Duration::from_millis(400);

    pub(crate) fn new(rule: InFlight) -> Self {
        Self {
            until: match rule {
                InFlight::Reject | InFlight::Accept => None,
                InFlight::Wait(time) => Some(Instant::now() + time),
            },
            pause: Self::FIRST_PAUSE,
        }
    }

    /// Waits for the first attempt of this process.
    async fn outlast<C: Backend, T>(
        &self,
        operation: &Operation<C>,
        keyed: &Keyed,
        over: impl Future<Output = T>,
    ) -> Result<T, Refusal> {
        if let Some(until) = self.until {
            let begun = Instant::now();
            let waited = timeout_at(until, over).await;
            operation.tally.waited(begun.elapsed());
            if let Ok(left) = waited {
                return Ok(left);
            }
        }
        Err(operation.in_flight(keyed))
    }

    /// Waits before the database is asked again about the first attempt of another process.
    pub(crate) async fn pause<C: Backend>(
        &mut self,
        operation: &Operation<C>,
        keyed: &Keyed,
    ) -> Result<(), Refusal> {
        if let Some(until) = self.until
            && Instant::now() < until
        {
            let begun = Instant::now();
            sleep_until(until.min(begun + self.pause)).await;
            operation.tally.waited(begun.elapsed());
            self.pause = Self::LONGEST_PAUSE.min(self.pause * 2);
            return Ok(());
        }
        Err(operation.in_flight(keyed))
    }
}
