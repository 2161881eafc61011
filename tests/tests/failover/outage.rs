//! Between the death of the primary and the promotion: what an application answers that goes on running, and how soon
//! it works again.

use std::time::Instant;

use idem_tests::{App, Request, Response, until};

use crate::load::Mode;
use crate::pair::{Pair, Replication};

const MODES: [Mode; 2] = [Mode::Transaction, Mode::Lease];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_application_says_503_and_then_works_again() {
    let mut pair = Pair::start(Replication::Synchronous).await;
    let app = pair.app().start().await;
    let kept = Mode::Transaction.request("kept");
    let first = app.send(&kept).await;
    assert_eq!(first.status, 201, "{first:?}");
    pair.lose_primary().await;
    let refused = MODES.map(|mode| mode.request(&format!("refused-{mode:?}")));
    for request in refused.iter().chain([&kept]) {
        assert_unavailable(&app.send(request).await);
    }
    let sent = Instant::now();
    assert_unavailable(&app.send(&kept).await);
    println!("503 after {:?}", sent.elapsed());

    // Requests go on coming in the middle of it.
    let (promoted, ()) = tokio::join!(
        async {
            pair.promote().await;
            Instant::now()
        },
        async {
            let replay = first_success(&app, &kept).await;
            assert!(replay.is_replay(), "{replay:?}");
            assert_eq!(replay.comparable(), first.comparable());
        },
    );
    println!("the first 2xx {:?} after the promotion", promoted.elapsed());
    for request in &refused {
        let answer = first_success(&app, request).await;
        assert_eq!(
            (answer.status, answer.is_replay()),
            (201, false),
            "{answer:?}"
        );
    }
    for mode in MODES {
        let label = format!("refused-{mode:?}");
        assert_eq!(app.entered(&label).await, 1, "{label}");
        assert_eq!(pair.standby.effects(&label).await, 1, "{label}");
    }
}

/// Every answer before it says that the database is not there.
async fn first_success(app: &App, request: &Request) -> Response {
    until("it works again", || async {
        let answer = app.send(request).await;
        if answer.status < 300 {
            return Some(answer);
        }
        assert_unavailable(&answer);
        None
    })
    .await
}

#[track_caller]
fn assert_unavailable(answer: &Response) {
    answer.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(answer.header("Retry-After").is_some(), "{answer:?}");
}
