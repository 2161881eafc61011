//! The standby is promoted while the old primary lives on, and an application is still connected to that.

use idem_tests::{App, Request};

use crate::load::Mode;
use crate::pair::{Pair, Replication, app_at, reconnected};

const MODES: [Mode; 2] = [Mode::Transaction, Mode::Lease];

/// Its COMMIT waits for a standby that it no longer has.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_old_primary_with_a_synchronous_standby_acknowledges_nothing() {
    let (mut pair, old, new) = divided(Replication::Synchronous).await;
    let asked = MODES.map(|mode| old.send_in_background(&request(mode)));
    pair.primary.commits_wait(2).await;
    // In lease mode the claim comes first: nobody calls the outside world from there.
    assert_eq!(old.entered("Lease").await, 0);
    let mut answers = Vec::new();
    for mode in MODES {
        let answer = new.send(&request(mode)).await;
        assert_eq!(
            (answer.status, answer.is_replay()),
            (201, false),
            "{answer:?}"
        );
        assert_eq!(pair.primary.effects(&format!("{mode:?}")).await, 0);
        answers.push(answer);
    }
    assert!(asked.iter().all(|asked| !asked.is_finished()));
    fence(&mut pair).await;
    for asked in asked {
        let refused = asked.await.unwrap();
        refused.assert_problem(503, "idempotency-store-unavailable", true);
        assert!(refused.header("Retry-After").is_some(), "{refused:?}");
    }
    reconnected(&old).await;
    for (mode, answer) in MODES.into_iter().zip(answers) {
        let replay = old.send(&request(mode)).await;
        assert!(replay.is_replay(), "{replay:?}");
        assert_eq!(replay.comparable(), answer.comparable());
        assert_eq!(pair.standby.effects(&format!("{mode:?}")).await, 1);
    }
}

/// It does not know that it is the old one: both acknowledge the same key, and one of the two is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_old_primary_with_an_asynchronous_standby_answers_as_well() {
    let (mut pair, old, new) = divided(Replication::Asynchronous).await;
    let mut answers = Vec::new();
    for mode in MODES {
        for app in [&old, &new] {
            let answer = app.send(&request(mode)).await;
            assert_eq!(
                (answer.status, answer.is_replay()),
                (201, false),
                "{answer:?}"
            );
            answers.push(answer);
        }
        for server in [&pair.primary, &pair.standby] {
            assert_eq!(server.effects(&format!("{mode:?}")).await, 1);
        }
    }
    // The outside world was called twice with each key, and can tell.
    let (there, here) = (
        pair.primary.calls("Lease").await,
        pair.standby.calls("Lease").await,
    );
    assert_eq!((there.len(), &there), (2, &here));
    fence(&mut pair).await;
    reconnected(&old).await;
    let replay = old.send(&request(MODES[0])).await;
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(replay.comparable(), answers[1].comparable());
}

/// The old primary with an application of its own, and the new one with another.
async fn divided(replication: Replication) -> (Pair, App, App) {
    let pair = Pair::start(replication).await;
    let old = pair.app().start().await;
    pair.caught_up().await;
    pair.link.cut().await;
    pair.standby.promote();
    let new = app_at(pair.standby.address()).start().await;
    (pair, old, new)
}

/// The old primary is no more, and its application is led to the new one.
async fn fence(pair: &mut Pair) {
    pair.lose_primary().await;
    pair.database.lead_to(pair.standby.address()).await;
}

fn request(mode: Mode) -> Request {
    mode.request(&format!("{mode:?}"))
}
