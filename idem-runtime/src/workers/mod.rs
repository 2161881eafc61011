//! Work in the background: pruning, reconciling what is unresolved, and driving what is stranded to its
//! end. Each is started explicitly, on as many replicas as one likes, and none waits for another.
//!
//! No SQL.

mod completion;
mod maintenance;
mod reconcile;
mod unresolved;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

pub(crate) use maintenance::Maintained;
pub use reconcile::{Reconciler, RecordedResponse, Verdict, settle};
pub use unresolved::{UnresolvedOperation, unresolved};

/// How many operations a worker takes at once.
const BATCH: u32 = 16;

/// A background worker. Dropping this lets it work on.
#[derive(Debug)]
pub struct Worker {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Worker {
    /// Lets the worker finish what it is at, and waits for that.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if self.task.await.is_err() {
            tracing::error!("a background worker had panicked");
        }
    }

    /// Starts one on the actix runtime of this thread, which takes its turns at about this interval, also
    /// after one that panicked. When it is stopped, it waits for what is still under way.
    fn start(
        interval: Duration,
        mut turn: impl AsyncFnMut(&Stopping) + 'static,
        under_way: impl Future<Output = ()> + 'static,
    ) -> Self {
        let (stop, stopping) = watch::channel(false);
        let mut stopping = Stopping(stopping);
        let task = actix_web::rt::spawn(async move {
            while !stopping.is_stopped() {
                let turn = AssertUnwindSafe(turn(&stopping));
                if turn.catch_unwind().await.is_err() {
                    tracing::error!("a turn of a background worker panicked");
                }
                stopping.pause(spread(interval)).await;
            }
            under_way.await;
        });
        Self { stop, task }
    }
}

/// What a worker looks at between two pieces of its work.
struct Stopping(watch::Receiver<bool>);

impl Stopping {
    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    async fn pause(&mut self, length: Duration) {
        tokio::select! {
            () = sleep(length) => {}
            // If the handle was dropped, nobody will stop it.
            Ok(_) = self.0.wait_for(|stopped| *stopped) => {}
        }
    }
}

/// Between nine tenths and eleven tenths of it, so that replicas that were started together part.
fn spread(length: Duration) -> Duration {
    let [random, ..] = uuid::Uuid::new_v4().into_bytes();
    length.mul_f64(0.9 + 0.2 * f64::from(random) / 255.0)
}
