//! A synchronous standby that cannot be reached: what waits for it, and what an operator who does not wait gives away.

use std::time::{Duration, Instant};

use idem_tests::App;

use crate::load::{Mode, gated_alone};
use crate::pair::{Pair, Replication, reconnected, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_acknowledged_that_the_standby_has_not_confirmed() {
    let pair = Pair::start(Replication::Synchronous).await;
    let limit = "ALTER ROLE postgres SET statement_timeout = '1s'";
    pair.primary.execute(limit).await;
    let (app, other) = (pair.app().start().await, pair.app().start().await);
    pair.link.cut().await;
    let request = Mode::Transaction.request("waiting");
    let first = app.send_in_background(&request);
    pair.primary.commits_wait(1).await;
    // The server's own limit is not one for COMMIT.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // Nobody sees it before it is confirmed.
    assert_eq!(pair.primary.effects("waiting").await, 0);
    let refused = other.send(&request).await;
    refused.assert_problem(409, "idempotency-in-flight", true);
    assert!(!first.is_finished());
    pair.link.lead_to(pair.primary.address()).await;
    let first = first.await.unwrap();
    assert_eq!((first.status, first.is_replay()), (201, false), "{first:?}");
    pair.caught_up().await;
    let replay = other.send(&request).await;
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(replay.comparable(), first.comparable());
}

/// The standby is away for longer than a lease, and the handler is dropped while its step's COMMIT waits: we must not be
/// the ones who end that wait, or what nobody has confirmed would be seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_is_dropped_does_not_end_the_wait() {
    let pair = Pair::start(Replication::Synchronous).await;
    let app = pair.app().start().await;
    let request = gated_alone("dropped");
    let first = app.send_in_background(&request);
    app.reached("dropped", 1).await;
    pair.link.cut().await;
    app.open_gate("dropped").await;
    pair.primary.commits_wait(1).await;
    let first = first.await.unwrap();
    first.assert_problem(503, "idempotency-store-unavailable", true);
    // A request to cancel would come on its own way, a little later than the answer.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        assert_eq!(pair.primary.effects("dropped").await, 0, "it is seen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    pair.link.lead_to(pair.primary.address()).await;
    let answer = settled(&app, &request).await;
    assert_eq!(
        (answer.status, answer.is_replay()),
        (201, false),
        "{answer:?}"
    );
    assert_eq!(pair.primary.effects("dropped").await, 1);
    assert_eq!(app.entered("dropped/order").await, 1);
}

/// PostgreSQL's own limit: who ends the wait of a COMMIT makes it visible, and the standby does not have it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_wait_that_an_operator_ends_is_not_confirmed() {
    let mut pair = Pair::start(Replication::Synchronous).await;
    let app = pair.app().start().await;
    pair.link.cut().await;
    let cancelled = ended(&pair, &app, "cancelled", End::By("pg_cancel_backend")).await;
    assert_eq!(cancelled, 201);
    let terminated = ended(&pair, &app, "terminated", End::By("pg_terminate_backend")).await;
    assert_eq!(terminated, 503);
    let restarted = ended(&pair, &app, "restarted", End::Restart).await;
    assert_eq!(restarted, 503);
    for label in ["terminated", "restarted"] {
        let replay = settled(&app, &Mode::Transaction.request(label)).await;
        assert!(replay.is_replay(), "{replay:?}");
    }

    pair.fail_over().await;
    reconnected(&app).await;
    for label in ["cancelled", "terminated", "restarted"] {
        assert_eq!(pair.standby.effects(label).await, 0);
        let again = app.send(&Mode::Transaction.request(label)).await;
        assert_eq!((again.status, again.is_replay()), (201, false), "{again:?}");
        assert_eq!(pair.standby.effects(label).await, 1);
    }
}

/// What ends a wait.
#[derive(Clone, Copy)]
enum End {
    /// A function of PostgreSQL, on the process that waits.
    By(&'static str),
    /// The server restarts.
    Restart,
}

/// The status of a request whose COMMIT waited until then.
async fn ended(pair: &Pair, app: &App, label: &str, end: End) -> u16 {
    let asked = app.send_in_background(&Mode::Transaction.request(label));
    pair.primary.commits_wait(1).await;
    match end {
        End::By(function) => {
            let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            let end = format!("SELECT {function}(pid) {waiting}");
            pair.primary.execute(&end).await;
        }
        End::Restart => pair.primary.crash().await,
    }
    asked.await.unwrap().status
}
