//! A relay that is told to stop finishes what it is publishing, and gives back the rest.

use idem_tests::{Stage, on_all};
use serde_json::json;

use super::{Letters, message, ordered, queue, under, unsent, with};

on_all! {
    what_is_being_published_is_finished,
}

async fn what_is_being_published_is_finished(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let slow = under(
        ordered("t", json!("slow"), "o"),
        json!([["X-Sleep-Ms", "3000"]]),
    );
    let messages = [
        slow,
        ordered("t", json!("behind"), "o"),
        message("t", json!("beside")),
    ];
    queue(&app, "k", &messages).await;
    let relay = with(letters.relay(stage), &[("--relay-concurrency", 1)]);
    let relay = relay.start().await;
    idem_tests::until("it publishes", || async {
        (relay.entered("publish:t").await == 1).then_some(())
    })
    .await;
    relay.terminate().await;
    assert_eq!(relay.ended().await.code(), Some(0));
    assert_eq!(super::payloads(&letters.all()), ["slow"]);
    assert_eq!(unsent(stage).await, 2);
    let given_back = "SELECT count(*) FROM idempotency_outbox
         WHERE sent_at IS NULL AND owner IS NULL AND attempts = 0";
    assert_eq!(stage.database.number(given_back).await, 2);
    // At once, without waiting for any time to run out.
    let _relay = letters.relay(stage).start().await;
    assert_eq!(letters.arrived(stage, 3).await.len(), 3);
}
