//! Being woken by the database, over a connection of its own that is made anew when it is lost. Meanwhile
//! the relay looks by itself.
//!
//! No SQL.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::operation::Chain;
use crate::pool::ConnectionPool;
use crate::store::Backend;
use crate::workers::spread;

/// Before the connection is made anew; longer each time that was in vain.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Does not end.
pub(super) async fn listen<C: Backend>(pool: &dyn ConnectionPool<C>, woken: &Notify) {
    if !C::WAKES {
        return std::future::pending().await;
    }
    let mut pause = FIRST_PAUSE;
    loop {
        let heard = std::cell::Cell::new(false);
        match pool.dedicate().await {
            Ok(mut connection) => {
                let wake = || {
                    heard.set(true);
                    woken.notify_one();
                };
                if let Err(error) = C::listen(&mut connection, wake).await {
                    tracing::warn!(%error, "a relay is not woken any more, and tries again");
                }
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "a relay cannot be woken, and tries again");
            }
        }
        pause = if heard.get() {
            FIRST_PAUSE
        } else {
            (pause * 2).min(LONGEST_PAUSE)
        };
        sleep(spread(pause)).await;
    }
}
