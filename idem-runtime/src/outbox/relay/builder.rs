//! What an application says once of a relay, and what makes no sense.
//!
//! Settings only.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::OutboxRelay;
use crate::outbox::Publisher;
use crate::pool::ConnectionPool;
use crate::store::Backend;

/// Payloads and headers that a relay has in memory, together; one message may be larger.
pub(super) const BYTES: u32 = 16 * 1024 * 1024;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// As much of `claim_for` is kept for writing down, at most.
const LONGEST_WRITING: Duration = Duration::from_secs(5);

/// The largest batch.
const MOST_AT_ONCE: u32 = 10_000;

/// What a relay goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) batch: u32,
    pub(super) concurrency: usize,
    pub(super) poll: Duration,
    pub(super) claim_for: Duration,
    pub(super) max_attempts: u32,
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
    pub(super) retain: Duration,
}

impl Settings {
    /// How long publishing may go on; what is left of `claim_for` is for writing down what became of it. Who
    /// takes the message next would count from what is written.
    pub(super) fn publish_for(self) -> Duration {
        self.claim_for - (self.claim_for / 5).min(LONGEST_WRITING)
    }

    /// How long a message is put off after this attempt: twice as long each time, between half of it and
    /// all of it, so that what failed together does not come back together.
    pub(super) fn pause(self, attempt: u32) -> Duration {
        let doubled = 1_u32.checked_shl(attempt.saturating_sub(1));
        let pause = doubled.and_then(|times| self.first_pause.checked_mul(times));
        let pause = pause.unwrap_or(self.longest_pause).min(self.longest_pause);
        let [random, ..] = uuid::Uuid::new_v4().into_bytes();
        pause.mul_f64(0.5 + 0.5 * f64::from(random) / 255.0)
    }
}

/// What an application says once of a relay.
#[must_use = "nothing is published before `build()` and `run`"]
pub struct RelayBuilder<C, P> {
    pool: Arc<dyn ConnectionPool<C>>,
    publisher: P,
    settings: Settings,
}

impl<C, P> fmt::Debug for RelayBuilder<C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RelayBuilder(..)")
    }
}

/// Why a relay cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayBuildError {
    /// A number that has to be at least one.
    #[error("`{0}` is zero")]
    Zero(&'static str),
    /// A number or a length of time that nobody can mean.
    #[error("`{0}` is too large")]
    TooLarge(&'static str),
    /// Whoever has taken a message needs time to publish it.
    #[error("`claim_for` is less than a second")]
    ClaimTooShort,
    /// The pause after the first failure is longer than the longest one.
    #[error("the first pause of `backoff` is longer than its longest one")]
    BackoffShrinks,
}

impl<C: Backend, P: Publisher> RelayBuilder<C, P> {
    pub(super) fn new(pool: Arc<dyn ConnectionPool<C>>, publisher: P) -> Self {
        Self {
            pool,
            publisher,
            settings: Settings {
                batch: 100,
                concurrency: 16,
                poll: Duration::from_secs(1),
                claim_for: Duration::from_secs(60),
                max_attempts: 200,
                first_pause: Duration::from_secs(1),
                longest_pause: Duration::from_secs(600),
                retain: Duration::from_secs(24 * 60 * 60),
            },
        }
    }

    /// How many messages are taken at once, and at most in memory: 100; 10,000 at most. While the database
    /// does not hand out so many in time, they are fewer.
    pub fn batch(mut self, messages: u32) -> Self {
        self.settings.batch = messages;
        self
    }

    /// How many messages are published at once: 16. Those of one ordering key are always published one
    /// after the other.
    pub fn concurrency(mut self, messages: usize) -> Self {
        self.settings.concurrency = messages;
        self
    }

    /// How often it looks by itself: every second, about. On PostgreSQL it is woken besides.
    pub fn poll(mut self, interval: Duration) -> Self {
        self.settings.poll = interval;
        self
    }

    /// How long a message that was taken is left to its relay: a minute. One that has not been published
    /// by then is taken anew, by whatever relay. A publisher is dropped a little before, five seconds at most,
    /// so that there is time to write down that it has failed.
    pub fn claim_for(mut self, length: Duration) -> Self {
        self.settings.claim_for = length;
        self
    }

    /// After how many attempts a message is given up: 200. With the default pauses that is after a day or so,
    /// so that a broker may be away for a night. An attempt is counted when it has come to an end: what a relay
    /// had in hand when it died has used none up, and a message that every relay dies of is never given up.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.settings.max_attempts = attempts;
        self
    }

    /// How long a message is put off after its first failure, and how long at most: a second, ten minutes. In
    /// between it is twice as long each time.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.settings.first_pause = first;
        self.settings.longest_pause = longest;
        self
    }

    /// How long the row of a message is kept after it was sent: a day. Rows that were not sent are kept.
    pub fn retain(mut self, length: Duration) -> Self {
        self.settings.retain = length;
        self
    }

    /// Checks it.
    ///
    /// # Errors
    ///
    /// See [`RelayBuildError`].
    pub fn build(self) -> Result<OutboxRelay<C, P>, RelayBuildError> {
        let settings = self.settings;
        let numbers = [
            ("batch", settings.batch == 0),
            ("concurrency", settings.concurrency == 0),
            ("poll", settings.poll.is_zero()),
            ("max_attempts", settings.max_attempts == 0),
            ("backoff", settings.first_pause.is_zero()),
        ];
        if let Some((name, _)) = numbers.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(RelayBuildError::Zero(name));
        }
        let lengths = [
            ("batch", settings.batch > MOST_AT_ONCE),
            ("poll", settings.poll > DAY),
            ("claim_for", settings.claim_for > DAY),
            ("backoff", settings.longest_pause > DAY * 30),
            ("retain", settings.retain > DAY * 36_525),
        ];
        if let Some((name, _)) = lengths.into_iter().find(|(_, is_too_large)| *is_too_large) {
            return Err(RelayBuildError::TooLarge(name));
        }
        if settings.claim_for < Duration::from_secs(1) {
            return Err(RelayBuildError::ClaimTooShort);
        }
        if settings.first_pause > settings.longest_pause {
            return Err(RelayBuildError::BackoffShrinks);
        }
        Ok(OutboxRelay {
            pool: self.pool,
            publisher: self.publisher,
            settings,
        })
    }
}
