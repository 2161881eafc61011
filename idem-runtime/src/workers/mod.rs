//! Work in the background: pruning, reconciling what is unresolved, and driving what is stranded to its
//! end. Each is started explicitly, on as many replicas as one likes, and none waits for another.
//!
//! No SQL.

mod completion;
mod maintenance;
mod reconcile;
mod unresolved;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use metrics::counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::Instrument;

pub(crate) use maintenance::Maintained;
pub use reconcile::{Reconciler, RecordedResponse, Verdict, settle};
pub use unresolved::{UnresolvedOperation, unresolved, unresolved_operation};

use crate::reach::Unreached;
use crate::telemetry::{self, WORKER_TURNS};

/// How many operations a worker takes at once.
const BATCH: u32 = 16;

/// A background worker. Dropping this lets it work on.
#[derive(Debug)]
pub struct Worker {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// One place for each thing that its task does not wait for itself.
    places: Arc<Semaphore>,
}

impl Worker {
    /// Lets the worker finish what it is at, and waits for that.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if self.task.await.is_err() {
            tracing::error!("a background worker had panicked");
        }
        let _all = self.places.acquire_many(BATCH).await;
    }

    /// Starts one on the actix runtime of this thread that takes no turns, but ends by itself when it is
    /// told to.
    pub(crate) fn of<F: Future<Output = ()> + 'static>(
        work: impl FnOnce(watch::Receiver<bool>) -> F,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self {
            stop,
            task: actix_web::rt::spawn(work(stopped)),
            places: Arc::new(Semaphore::new(BATCH as usize)),
        }
    }

    /// Starts one on the actix runtime of this thread, which takes its turns at about this interval, also
    /// after one that failed or panicked.
    fn start(
        name: &'static str,
        interval: Duration,
        mut turn: impl AsyncFnMut(&Stopping) -> Result<(), Unreached> + 'static,
    ) -> Self {
        let (stop, stopping) = watch::channel(false);
        let places = Arc::new(Semaphore::new(BATCH as usize));
        let mut stopping = Stopping {
            stopped: stopping,
            places: Arc::clone(&places),
        };
        let task = actix_web::rt::spawn(async move {
            while !stopping.is_stopped() {
                let span = telemetry::worker_turn(name);
                let turn = AssertUnwindSafe(turn(&stopping)).catch_unwind();
                let result = match turn.instrument(span.clone()).await {
                    Ok(Ok(())) => "done",
                    Ok(Err(Unreached)) => "failed",
                    Err(_) => {
                        tracing::error!(parent: &span, "a turn of a background worker panicked");
                        "failed"
                    }
                };
                counter!(WORKER_TURNS, "worker" => name, "result" => result).increment(1);
                telemetry::ended(&span, result);
                drop(span);
                stopping.pause(spread(interval)).await;
            }
        });
        Self { stop, task, places }
    }
}

/// What a worker looks at between two pieces of its work.
struct Stopping {
    stopped: watch::Receiver<bool>,
    places: Arc<Semaphore>,
}

impl Stopping {
    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// A place for something that the task does not wait for: whoever stops the worker does.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    async fn pause(&mut self, length: Duration) {
        tokio::select! {
            () = sleep(length) => {}
            // If the handle was dropped, nobody will stop it.
            Ok(_) = self.stopped.wait_for(|stopped| *stopped) => {}
        }
    }
}

/// Between nine tenths and eleven tenths of it, so that replicas that were started together part.
pub(crate) fn spread(length: Duration) -> Duration {
    let [random, ..] = uuid::Uuid::new_v4().into_bytes();
    length.mul_f64(0.9 + 0.2 * f64::from(random) / 255.0)
}
