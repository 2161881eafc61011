//! Taking messages: as many at once as come in time; and giving back what was taken by a claim whose answer
//! has not come.
//!
//! No SQL, no publishing.

use std::time::Duration;

use diesel::QueryResult;
use tokio::time::Instant;
use uuid::Uuid;

use super::builder::{BYTES, Settings};
use crate::store::Backend;
use crate::store::outbox::{self, Bounds, Reached, Taken, TakenRow};

/// A full hand that came sooner may be followed by a larger one; what failed sooner has failed.
const QUICK: Duration = Duration::from_secs(1);

/// What a relay has in hand: messages, and until when they are its own.
pub(super) struct Hand {
    pub(super) taken: Taken,
    /// By our clock, counted from before the question was sent.
    pub(super) until: Instant,
    /// Until when they may be published.
    pub(super) publish_until: Instant,
    pub(super) rows: Vec<TakenRow>,
}

/// How a relay claims.
pub(super) struct Claims {
    settings: Settings,
    /// How many messages are taken at once, for now: what comes too late is not published, and what does not
    /// come at all is not either, so that the same ones would be taken again and again.
    messages: u32,
    unanswered: Vec<Unanswered>,
}

/// Nobody has said what it took, and it may be under way still.
struct Unanswered {
    owner: Uuid,
    since: Instant,
}

impl Claims {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            messages: settings.batch,
            unanswered: Vec::new(),
        }
    }

    /// Whether something may be given back soon.
    pub(super) fn are_unanswered(&self) -> bool {
        !self.unanswered.is_empty()
    }

    pub(super) async fn take<C: Backend>(
        &mut self,
        connection: &mut C,
        reached: &Reached,
    ) -> QueryResult<(Hand, Option<Reached>)> {
        let taken = Taken {
            owner: Uuid::new_v4(),
            length: self.settings.claim_for,
        };
        let bounds = Bounds {
            messages: self.messages,
            // As many others have room beside those of one ordering key.
            in_order: self.messages.div_ceil(4),
            bytes: BYTES,
        };
        let since = Instant::now();
        let claim = async |connection: &mut C| claim(connection, &taken, bounds, reached).await;
        match stopped_if_late(connection, claim).await {
            Ok((rows, reached)) => {
                self.came(rows.len(), since.elapsed());
                let hand = Hand {
                    taken,
                    until: since + taken.length,
                    publish_until: since + self.settings.publish_for(),
                    rows,
                };
                Ok((hand, reached))
            }
            Err(error) => {
                self.fewer();
                // SQLite is no other process: what fails there has failed.
                if !C::ONE_WRITER {
                    let owner = taken.owner;
                    self.unanswered.push(Unanswered { owner, since });
                }
                Err(error)
            }
        }
    }

    /// On another connection than those that have not answered. One that has taken nothing yet is asked for
    /// again, until its messages are due in any case. They have to wait for that as well where this takes too
    /// long: everybody else's would wait for it.
    pub(super) async fn give_back<C: Backend>(&mut self, connection: &mut C) -> QueryResult<()> {
        let longest = self.settings.claim_for * 2;
        self.unanswered
            .retain(|claim| claim.since.elapsed() < longest);
        let since = Instant::now();
        let mut open = Vec::new();
        for Unanswered { owner, .. } in &self.unanswered {
            let give_back =
                async |connection: &mut C| outbox::give_back_all(connection, *owner).await;
            match stopped_if_late(connection, give_back).await {
                Ok(0) => open.push(*owner),
                Ok(count) => {
                    tracing::warn!(count, "what was taken without an answer is given back")
                }
                Err(error) => {
                    if since.elapsed() > QUICK {
                        self.unanswered.clear();
                    }
                    return Err(error);
                }
            }
        }
        self.unanswered.retain(|claim| open.contains(&claim.owner));
        Ok(())
    }

    /// A hand of that many, after that long.
    fn came(&mut self, messages: usize, after: Duration) {
        if after > self.settings.claim_for / 2 {
            self.fewer();
        } else if messages >= self.messages as usize && after < QUICK {
            self.messages = (self.messages * 2).min(self.settings.batch);
        }
    }

    fn fewer(&mut self) {
        self.messages = (self.messages / 2).max(1);
    }
}

/// What has failed late may still be under way.
async fn stopped_if_late<C: Backend, T>(
    connection: &mut C,
    question: impl AsyncFnOnce(&mut C) -> QueryResult<T>,
) -> QueryResult<T> {
    let since = Instant::now();
    let canceller = C::canceller(connection);
    let answer = question(connection).await;
    if answer.is_err() && since.elapsed() > QUICK {
        C::stop(canceller);
    }
    answer
}

async fn claim<C: Backend>(
    connection: &mut C,
    taken: &Taken,
    bounds: Bounds,
    reached: &Reached,
) -> QueryResult<(Vec<TakenRow>, Option<Reached>)> {
    let heads = outbox::look(connection, reached, bounds).await?;
    let rows = outbox::take(connection, taken, bounds, &heads).await?;
    Ok((rows, heads.reached))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM_FOR: Duration = Duration::from_secs(60);

    fn claims(batch: u32) -> Claims {
        Claims::new(Settings {
            batch,
            concurrency: 1,
            poll: QUICK,
            claim_for: CLAIM_FOR,
            max_attempts: 1,
            first_pause: QUICK,
            longest_pause: QUICK,
            retain: QUICK,
        })
    }

    #[test]
    fn what_comes_late_makes_hands_smaller_down_to_one() {
        let mut claims = claims(100);
        let late = CLAIM_FOR / 2 + Duration::from_secs(1);
        let sizes = [50, 25, 12, 6, 3, 1, 1];
        for size in sizes {
            claims.came(100, late);
            assert_eq!(claims.messages, size);
        }
    }

    #[test]
    fn full_and_quick_ones_make_them_larger_up_to_the_batch() {
        let mut claims = claims(10);
        claims.fewer();
        claims.fewer();
        assert_eq!(claims.messages, 2);
        // Nothing was there, or not enough: nobody knows how long more would have taken.
        claims.came(0, Duration::ZERO);
        claims.came(1, Duration::ZERO);
        claims.came(2, QUICK * 2);
        assert_eq!(claims.messages, 2);
        for size in [4, 8, 10, 10] {
            claims.came(claims.messages as usize, Duration::ZERO);
            assert_eq!(claims.messages, size);
        }
    }
}
