//! Being woken by the database, over a connection of its own that is made anew when it is lost. Meanwhile
//! the relay looks by itself.
//!
//! No SQL.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::operation::Chain;
use crate::pool::ConnectionPool;
use crate::store::Backend;
use crate::workers::spread;

/// Before the connection is made anew; longer each time that was in vain.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Does not end.
pub(super) async fn listen<C: Backend>(pool: &dyn ConnectionPool<C>, woken: &Notify) {
    if !C::LISTENS {
        return std::future::pending().await;
    }
    let connect_and_listen = async || match pool.dedicate().await {
        Ok(mut connection) => {
            if let Err(error) = C::listen(&mut connection, || woken.notify_one()).await {
                tracing::warn!(%error, "a relay is not woken any more, and tries again");
            }
        }
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "a relay cannot be woken, and tries again");
        }
    };
    again_and_again(connect_and_listen).await;
}

async fn again_and_again(mut connect_and_listen: impl AsyncFnMut()) {
    let mut pause = FIRST_PAUSE;
    loop {
        let since = Instant::now();
        connect_and_listen().await;
        // That it has heard something does not count: each does once, when it is made.
        pause = if since.elapsed() > LONGEST_PAUSE {
            FIRST_PAUSE
        } else {
            (pause * 2).min(LONGEST_PAUSE)
        };
        sleep(spread(pause)).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// How often it is made in an hour, when each lives for so long.
    async fn made(life: impl Fn(u32) -> Duration) -> u32 {
        let mut count = 0;
        let connect_and_listen = async || {
            count += 1;
            sleep(life(count)).await;
        };
        let _ = timeout(HOUR, again_and_again(connect_and_listen)).await;
        count
    }

    /// A pooler lets it listen, and takes it away.
    #[tokio::test(start_paused = true)]
    async fn one_that_is_lost_at_once_is_made_less_and_less_often() {
        let count = made(|_| Duration::from_millis(10)).await;
        assert!((100..200).contains(&count), "{count}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_has_lived_is_made_anew_at_once() {
        let minute = Duration::from_secs(60);
        let count = made(|count| if count > 10 { minute } else { Duration::ZERO }).await;
        // Ten in vain within two and a half minutes, and then no pause that counts.
        assert!((65..70).contains(&count), "{count}");
    }
}
