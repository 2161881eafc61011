//! What was sent goes when its time is over; what was not sent stays.

use idem_tests::{Stage, on_all, until};
use serde_json::json;

use super::{Letters, message, queue, rows, under, with};

on_all! {
    sent_rows_go_and_all_others_stay,
}

async fn sent_rows_go_and_all_others_stay(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let refused = under(message("t", json!("dead")), json!([["X-Refuse", "yes"]]));
    let mut late = message("t", json!("late"));
    late["delay_ms"] = json!(3_600_000);
    let messages = [
        message("t", json!(1)),
        refused,
        late,
        message("t", json!(2)),
    ];
    queue(&app, "k", &messages).await;
    // Everybody's time is over, also of those whose time does not count.
    let options = [("--relay-retain-ms", 0)];
    let _relay = with(letters.relay(stage), &options).start().await;
    until("the sent ones are gone", || async {
        (letters.all().len() == 2 && rows(stage).await == 2).then_some(())
    })
    .await;
    let past = stage.backend().ago(366 * 24 * 60 * 60);
    let age = format!("UPDATE idempotency_outbox SET enqueued_at = {past}, expires_at = {past}");
    stage.database.execute(&age).await;
    // Once more through all it does.
    queue(&app, "again", &[message("t", json!(3))]).await;
    until("the third one is gone", || async {
        (letters.all().len() == 3 && rows(stage).await == 2).then_some(())
    })
    .await;
    let left = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NOT NULL";
    assert_eq!(stage.database.number(left).await, 0);
}
