//! A relay dies at every point: nothing is lost, and what comes twice has one id.

use idem_tests::{App, Stage, on_all, until};
use serde_json::json;

use super::{
    Letters, die_at_every_boundary, firsts, ids, killed, message, mortal, ordered, payloads, plain,
    queue, release_taken, under, unsent, with,
};

on_all! {
    killed_at_every_boundary,
    killed_between_sending_and_writing_it_down,
    killed_while_it_publishes,
    a_relay_that_dies_again_and_again_uses_up_no_attempts,
}

async fn killed_at_every_boundary(stage: &Stage) {
    let app = stage.start().await;
    let letters = Letters::new();
    let queue = async |at| {
        let key = format!("k{at}");
        let messages = [2 * at - 1, 2 * at].map(|number| ordered("t", json!(number), &key));
        queue(&app, &key, &messages).await;
    };
    let look = async |at| {
        let arrived = letters.all();
        let once = firsts(&arrived);
        let all: Vec<_> = (1..=2 * at).collect();
        assert_eq!(payloads(&once), all, "boundary {at}: {arrived:#?}");
        let sent = once
            .iter()
            .map(|letter| plain(letter["id"].as_str().unwrap()));
        assert_eq!(sent.collect::<Vec<_>>(), ids(stage).await, "boundary {at}");
    };
    let boundaries = die_at_every_boundary(stage, || letters.relay(stage), queue, look).await;
    assert!(boundaries > 8, "only {boundaries} boundaries");
}

async fn killed_between_sending_and_writing_it_down(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let dies = under(ordered("t", json!(1), "o"), json!([["X-Die", "yes"]]));
    queue(&app, "k", &[dies, ordered("t", json!(2), "o")]).await;
    killed(mortal(letters.relay(stage)).start().await).await;
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
    let mortal = mortal(with(letters.relay(stage), &options));
    for death in 1..=DEATHS {
        // Otherwise it did not even come to say that it listens.
        if let Ok(victim) = mortal.try_start().await {
            killed(victim).await;
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
