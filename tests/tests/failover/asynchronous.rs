//! An asynchronous standby: what it had not received when the primary died is gone, whole operations at a time. A retry
//! then runs again, with the same derived keys towards the outside world.

use idem_tests::{App, Response};

use crate::load::{Mode, gated};
use crate::pair::{Pair, Replication, reconnected};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_standby_lacks_is_lost_whole_and_runs_again() {
    let mut pair = Pair::start(Replication::Asynchronous).await;
    let app = pair.app().start().await;
    let modes = [Mode::Transaction, Mode::Lease];
    let mut kept = Vec::new();
    for mode in modes {
        kept.push(acknowledged(&app, mode, "kept").await);
    }
    pair.caught_up().await;
    // The network between the two fails, the applications notice nothing, and go on.
    pair.link.cut().await;
    for mode in modes {
        acknowledged(&app, mode, "lost").await;
    }
    let called = pair.primary.calls(&label(Mode::Lease, "lost")).await;
    assert_eq!(called.len(), 2);

    pair.fail_over().await;
    reconnected(&app).await;
    for (mode, first) in modes.into_iter().zip(kept) {
        let replay = app.send(&mode.request(&label(mode, "kept"))).await;
        assert!(replay.is_replay(), "{replay:?}");
        assert_eq!(replay.comparable(), first.comparable());
        assert_eq!(pair.standby.effects(&label(mode, "kept")).await, 1);
    }
    // Acknowledged, and gone: the effect, and with it the record of it.
    for mode in modes {
        let label = label(mode, "lost");
        assert_eq!(pair.standby.effects(&label).await, 0);
        let records = format!("SELECT key FROM idempotency_keys WHERE key = '{label}'");
        assert!(pair.standby.rows(&records).await.is_empty());
        let again = app.send(&mode.request(&label)).await;
        assert_eq!((again.status, again.is_replay()), (201, false), "{again:?}");
        assert_eq!(pair.standby.effects(&label).await, 1);
    }
    // The outside world was called again, and can tell.
    assert_eq!(
        pair.standby.calls(&label(Mode::Lease, "lost")).await,
        called
    );
}

/// A handler outlives the claim that it works under: another one works beside it, and only one of the two is recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_claim_is_fenced() {
    let mut pair = Pair::start(Replication::Asynchronous).await;
    let (app, other) = (pair.app().start().await, pair.app().start().await);
    pair.caught_up().await;
    pair.link.cut().await;
    let request = gated("gate", 2);
    let first = app.send_in_background(&request);
    app.reached("gate", 1).await;
    pair.fail_over().await;
    reconnected(&other).await;
    other.open_gate("gate").await;
    let second = other.send(&request).await;
    assert_eq!(
        (second.status, second.is_replay()),
        (201, false),
        "{second:?}"
    );
    app.open_gate("gate").await;
    let first = first.await.unwrap();
    assert!(first.is_replay() || first.status >= 409, "{first:?}");
    let replay = app.send(&request).await;
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(replay.comparable(), second.comparable());
    assert_eq!(pair.standby.effects("gate").await, 1);
}

fn label(mode: Mode, name: &str) -> String {
    format!("{name}-{mode:?}")
}

async fn acknowledged(app: &App, mode: Mode, name: &str) -> Response {
    let answer = app.send(&mode.request(&label(mode, name))).await;
    assert_eq!(
        (answer.status, answer.is_replay()),
        (201, false),
        "{answer:?}"
    );
    answer
}
