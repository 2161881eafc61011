//! When the next attempt may begin, how long it may take, and when it is enough.
//!
//! Pure values: the time and the random number are given.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

/// As good as no limit, and a time that a clock can still name.
const LONGEST_BUDGET: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// One call's way through its attempts.
pub(crate) struct Course {
    deadline: Instant,
    attempt_timeout: Duration,
    pauses: ExponentialBackoff,
}

impl Course {
    pub(crate) fn begin(
        now: Instant,
        budget: Duration,
        attempt_timeout: Duration,
        backoff: ExponentialBuilder,
    ) -> Self {
        Self {
            deadline: now + budget.min(LONGEST_BUDGET),
            attempt_timeout,
            pauses: backoff.build(),
        }
    }

    /// How long an attempt that begins now may take: no attempt outlives the budget.
    pub(crate) fn attempt_time(&self, now: Instant) -> Duration {
        self.attempt_timeout
            .min(self.deadline.saturating_duration_since(now))
    }

    /// The pause before the next attempt; `None` if there is to be none, because it would begin behind the budget or there were
    /// enough.
    ///
    /// backon's own jitter lies between one and two times the delay. Ours is full jitter: anything from nothing to the whole
    /// delay (`random` is in `0.0..1.0`), so that clients that failed together do not come back together. It comes on top of what
    /// the server asks to wait, which is never cut short, for the same reason.
    pub(crate) fn pause(
        &mut self,
        now: Instant,
        retry_after: Option<Duration>,
        random: f64,
    ) -> Option<Duration> {
        let jitter = self.pauses.next()?.mul_f64(random);
        let pause = retry_after.unwrap_or_default().saturating_add(jitter);
        (pause < self.deadline.saturating_duration_since(now)).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn course(now: Instant, budget: u64) -> Course {
        let backoff = ExponentialBuilder::new()
            .with_max_delay(SECOND * 8)
            .without_max_times();
        Course::begin(
            now,
            SECOND * u32::try_from(budget).unwrap(),
            SECOND * 10,
            backoff,
        )
    }

    #[test]
    fn pauses_grow_to_a_limit_and_are_random_from_zero_on() {
        let now = Instant::now();
        let mut course = course(now, 1000);
        let delays = [1, 2, 4, 8, 8, 8];
        for (delay, random) in delays.into_iter().zip([0.0, 0.25, 0.5, 0.75, 0.999, 0.0]) {
            let expected = (SECOND * delay).mul_f64(random);
            assert_eq!(course.pause(now, None, random), Some(expected));
        }
    }

    #[test]
    fn what_the_server_asks_for_is_waited_for_and_jitter_comes_on_top() {
        let now = Instant::now();
        let mut course = course(now, 100);
        assert_eq!(course.pause(now, Some(SECOND * 30), 0.0), Some(SECOND * 30));
        assert_eq!(course.pause(now, Some(SECOND * 30), 0.5), Some(SECOND * 31));
        assert_eq!(
            course.pause(now, Some(Duration::ZERO), 0.5),
            Some(SECOND * 2)
        );
    }

    #[test]
    fn no_pause_reaches_the_end_of_the_budget() {
        let now = Instant::now();
        let mut course = course(now, 10);
        assert_eq!(course.pause(now, Some(SECOND * 10), 0.0), None);
        assert_eq!(course.pause(now, Some(Duration::MAX), 0.9), None);
        assert_eq!(course.pause(now, Some(SECOND * 9), 0.0), Some(SECOND * 9));
        assert_eq!(course.pause(now + SECOND * 10, None, 0.0), None);
        assert_eq!(course.pause(now + SECOND * 11, None, 0.0), None);
    }

    #[test]
    fn no_attempt_outlives_the_budget() {
        let now = Instant::now();
        let course = course(now, 15);
        assert_eq!(course.attempt_time(now), SECOND * 10);
        assert_eq!(course.attempt_time(now + SECOND * 12), SECOND * 3);
        assert_eq!(course.attempt_time(now + SECOND * 20), Duration::ZERO);
    }

    #[test]
    fn a_budget_without_an_end_is_no_panic() {
        let now = Instant::now();
        let longest = Duration::MAX;
        let mut course = Course::begin(now, longest, longest, ExponentialBuilder::new());
        assert!(course.attempt_time(now) > SECOND * 1_000_000);
        assert!(course.pause(now, None, 0.5).is_some());
        assert_eq!(course.pause(now, Some(longest), 0.5), None);
    }

    #[test]
    fn attempts_can_be_counted_too() {
        let now = Instant::now();
        let backoff = ExponentialBuilder::new().with_max_times(2);
        let mut course = Course::begin(now, SECOND * 1000, SECOND, backoff);
        assert!(course.pause(now, None, 0.0).is_some());
        assert!(course.pause(now, None, 0.0).is_some());
        assert_eq!(course.pause(now, None, 0.0), None);
    }
}
