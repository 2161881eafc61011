//! A relay dies at every point: nothing is lost, and what comes twice has one id.

use std::os::unix::process::ExitStatusExt;

use idem_tests::{App, Stage, on_all, until};
use serde_json::json;

use super::{
    Letters, firsts, ids, message, ordered, payloads, plain, queue, release_taken, under, unsent,
    with,
};

const SIGKILL: i32 = 9;
const FAR_TOO_MANY: u32 = 100;
/// It dies behind a message with `X-Die`.
const MORTAL: &str = "--relay-mortal";

on_all! {
    killed_at_every_boundary,
    killed_between_sending_and_writing_it_down,
    killed_while_it_publishes,
    a_relay_that_dies_again_and_again_uses_up_no_attempts,
}

async fn killed_at_every_boundary(stage: &Stage) {
    let app = stage.start().await;
    // Behind a kill at the last boundary of a turn comes one in the next turn, which finds nothing.
    let mut spare = 3;
    for at in 1..FAR_TOO_MANY {
        let letters = Letters::new();
        let key = format!("k{at}");
        let messages = [1, 2].map(|number| ordered("t", json!(number), &key));
        queue(&app, &key, &messages).await;
        let launch = with(letters.relay(stage), &[("--die-at", at)]);
        // Otherwise it did not even come to say that it listens.
        if let Ok(victim) = launch.try_start().await {
            assert_eq!(victim.ended().await.signal(), Some(SIGKILL));
        }
        let was_done = unsent(stage).await == 0;
        release_taken(stage).await;
        let relay = letters.relay(stage).start().await;
        let arrived = letters.arrived(stage, 2).await;
        relay.kill().await;
        let once = firsts(&arrived);
        assert_eq!(payloads(&once), [1, 2], "boundary {at}: {arrived:#?}");
        let sent = once
            .iter()
            .map(|letter| plain(letter["id"].as_str().unwrap()));
        let stored = ids(stage).await.split_off(2 * (at as usize - 1));
        assert_eq!(sent.collect::<Vec<_>>(), stored, "boundary {at}");
        if was_done {
            spare -= 1;
        }
        if spare == 0 {
            assert!(at > 8, "only {at} boundaries");
            return;
        }
    }
    panic!("never got through");
}

async fn killed_between_sending_and_writing_it_down(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let dies = under(ordered("t", json!(1), "o"), json!([["X-Die", "yes"]]));
    queue(&app, "k", &[dies, ordered("t", json!(2), "o")]).await;
    let victim = letters.relay(stage).argument(MORTAL).start().await;
    assert_eq!(victim.ended().await.signal(), Some(SIGKILL));
    assert_eq!(payloads(&letters.all()), [1]);
    assert_eq!(unsent(stage).await, 2);
    release_taken(stage).await;
    let _relay = letters.relay(stage).start().await;
    let arrived = letters.arrived(stage, 3).await;
    assert_eq!(payloads(&arrived), [1, 1, 2]);
    assert_eq!(arrived[0]["id"], arrived[1]["id"]);
    assert_eq!(arrived[1]["attempt"], 1);
}

/// Nobody releases what it had taken: its time runs out.
async fn killed_while_it_publishes(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let waits = under(ordered("t", json!(1), "o"), json!([["X-Gate", "here"]]));
    queue(&app, "k", &[waits, ordered("t", json!(2), "o")]).await;
    let brief = [("--relay-claim-ms", 1_500)];
    let victim = with(letters.relay(stage), &brief).start().await;
    victim.reached("here", 1).await;
    let other = with(letters.relay(stage), &brief).start().await;
    other.open_gate("here").await;
    victim.kill().await;
    assert_eq!(payloads(&letters.arrived(stage, 2).await), [1, 2]);
    is_idle(&other, stage).await;
}

/// One message takes the relay down, and others are in its hand.
async fn a_relay_that_dies_again_and_again_uses_up_no_attempts(stage: &Stage) {
    const DEATHS: usize = 4;
    const ATTEMPTS: u32 = 2;
    let letters = Letters::new();
    let app = stage.start().await;
    let messages = [
        under(message("dies", json!("dies")), json!([["X-Die", "yes"]])),
        message("beside", json!("beside")),
        ordered("beside", json!("first"), "o"),
        ordered("beside", json!("second"), "o"),
        under(message("fails", json!("fails")), json!([["X-Fail", "99"]])),
    ];
    queue(&app, "k", &messages).await;
    let options = [("--relay-concurrency", 1), ("--relay-attempts", ATTEMPTS)];
    let mortal = with(letters.relay(stage), &options).argument(MORTAL);
    for death in 1..=DEATHS {
        // Otherwise it did not even come to say that it listens.
        if let Ok(victim) = mortal.try_start().await {
            assert_eq!(victim.ended().await.signal(), Some(SIGKILL));
        }
        assert_eq!(letters.all().len(), death, "death {death}");
        release_taken(stage).await;
    }
    let relay = with(letters.relay(stage), &options).start().await;
    let arrived = letters.arrived(stage, DEATHS + 4).await;
    let attempts: Vec<_> = arrived.iter().map(|letter| &letter["attempt"]).collect();
    assert!(
        attempts.iter().all(|attempt| **attempt == 1),
        "{arrived:#?}"
    );
    // What it fails at itself does count.
    assert_eq!(relay.entered("publish:fails").await, u64::from(ATTEMPTS));
    let counted = "SELECT attempts FROM idempotency_outbox WHERE dead_at IS NOT NULL";
    assert_eq!(stage.database.number(counted).await, i64::from(ATTEMPTS));
}

/// It goes on after that.
async fn is_idle(relay: &App, stage: &Stage) {
    queue(relay, "after", &[ordered("t", json!(3), "o")]).await;
    until("the next one is sent", || async {
        (unsent(stage).await == 0).then_some(())
    })
    .await;
}
