//! Doing things at the same moment, and waiting for something to become true: nobody else sleeps until a thing is so.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::JoinSet;

const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

/// Runs `count` tasks that all start at a barrier; their results in order of the tasks.
pub async fn all_at_once<F, Fut>(count: usize, task: F) -> Vec<Fut::Output>
where
    F: Fn(usize) -> Fut,
    Fut: Future + Send + 'static,
    Fut::Output: Send + 'static,
{
    let barrier = Arc::new(Barrier::new(count));
    let mut tasks = JoinSet::new();
    for index in 0..count {
        let (barrier, task) = (Arc::clone(&barrier), task(index));
        tasks.spawn(async move {
            barrier.wait().await;
            (index, task.await)
        });
    }
    let mut results = tasks.join_all().await;
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Asks again and again until the answer is `Some`; panics with `what` when that takes too long.
pub async fn until<T, F, Fut>(what: &str, mut ask: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "in vain waited until {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
