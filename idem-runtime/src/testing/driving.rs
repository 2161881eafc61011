//! Driving requests by hand: all of them begun before any goes on, and one dropped in the middle.
//!
//! No rules.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use futures_util::future::{LocalBoxFuture, MaybeDone, join_all, maybe_done};

/// What they gave, and how many of them were still running when the last had begun.
pub(super) async fn at_once<T>(
    futures: impl IntoIterator<Item = impl Future<Output = T>>,
) -> (Vec<T>, usize) {
    let mut all: Vec<_> = futures
        .into_iter()
        .map(|future| Box::pin(maybe_done(future)))
        .collect();
    poll_fn(|context| {
        for one in &mut all {
            let _begun = one.as_mut().poll(context);
        }
        Poll::Ready(())
    })
    .await;
    let is_running = |one: &&Pin<Box<MaybeDone<_>>>| matches!(***one, MaybeDone::Future(_));
    let running = all.iter().filter(is_running).count();
    join_all(all.iter_mut().map(Pin::as_mut)).await;
    let given = all.iter_mut().filter_map(|one| one.as_mut().take_output());
    (given.collect(), running)
}

/// Drops a future behind its so-manieth poll, as a server does whose client has gone away; what it gave, if it was over
/// by then.
pub(super) async fn drop_after<T>(polls: u32, future: LocalBoxFuture<'_, T>) -> Option<T> {
    let mut future = Some(future);
    let mut left = polls;
    let over = poll_fn(|context| {
        let Some(running) = future.as_mut() else {
            return Poll::Ready(None);
        };
        left = left.saturating_sub(1);
        match running.as_mut().poll(context) {
            Poll::Ready(given) => Poll::Ready(Some(given)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    drop_quietly(future);
    over
}

/// On a worker of actix diesel-async panics where a statement on SQLite is dropped.
pub(super) fn drop_quietly<T>(dropped: T) {
    let _dropped = catch_unwind(AssertUnwindSafe(move || drop(dropped)));
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn all_have_begun_before_one_goes_on() {
        let begun = Cell::new(0);
        let one = |waits: bool| {
            let begun = &begun;
            async move {
                begun.set(begun.get() + 1);
                if waits {
                    yield_now().await;
                }
                begun.get()
            }
        };
        let given = at_once([true, false, true].map(one)).await;
        assert_eq!(given, (vec![3, 2, 3], 2));
    }
}
