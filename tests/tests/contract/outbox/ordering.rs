//! Messages of one ordering key arrive in the order of their commits, whoever sends them and whatever fails.

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use idem_tests::{Stage, all_at_once, in_both_styles, in_both_styles_on_postgres, send, until};
use serde_json::{Value, json};

use super::{Letters, OUTBOX, firsts, message, ordered, payloads, queue, queueing, under, with};
use crate::asking::ask;

in_both_styles! {
    four_relays_and_failures_in_between,
    one_that_is_put_off_holds_its_order_up,
    concurrent_operations,
}

in_both_styles_on_postgres! {
    who_commits_first_is_first,
    what_a_late_relay_puts_off_is_not_passed_by,
}

async fn four_relays_and_failures_in_between(stage: &Stage) {
    const STREAMS: usize = 5;
    const EACH: usize = 30;
    let letters = Letters::new();
    let app = stage.start().await;
    // Small batches, so that they meet.
    let launch = with(
        letters.relay(stage),
        &[("--relay-batch", 6), ("--relay-concurrency", 3)],
    );
    let mut relays = Vec::new();
    for _ in 0..4 {
        relays.push(launch.start().await);
    }
    for number in 0..EACH {
        let mut messages = Vec::new();
        for stream in 0..STREAMS {
            let message = ordered("t", json!(number), &format!("o{stream}"));
            let fails = if (number + stream) % 7 == 0 { "1" } else { "0" };
            messages.push(under(message, json!([["X-Fail", fails]])));
        }
        messages.push(message("loose", json!(number)));
        queue(&app, &format!("k{number}"), &messages).await;
    }
    let total = EACH * (STREAMS + 1);
    let arrived = letters.arrived(stage, total).await;
    // None was killed, so that none comes twice.
    assert_eq!(arrived.len(), total);
    for stream in 0..STREAMS {
        let order = format!("o{stream}");
        let of_stream: Vec<Value> = arrived
            .iter()
            .filter(|letter| letter["order"] == *order)
            .cloned()
            .collect();
        let expected: Vec<Value> = (0..EACH).map(|number| json!(number)).collect();
        assert_eq!(payloads(&of_stream), expected.iter().collect::<Vec<_>>());
    }
    let mut shares = Vec::new();
    for relay in &relays {
        shares.push(relay.entered("publish:t").await);
    }
    let busy = shares.iter().filter(|share| **share > 0).count();
    assert!(busy > 1, "one has done it all: {shares:?}");
}

async fn one_that_is_put_off_holds_its_order_up(stage: &Stage) {
    let letters = Letters::new();
    let (app, _relay) = (stage.start().await, letters.relay(stage).start().await);
    let mut late = ordered("t", json!(1), "o");
    late["delay_ms"] = json!(700);
    let messages = [
        late,
        ordered("t", json!(2), "o"),
        ordered("t", json!(3), "p"),
    ];
    queue(&app, "k", &messages).await;
    assert_eq!(payloads(&letters.arrived(stage, 3).await), [3, 1, 2]);
}

/// Their numbers say in which order they have committed.
async fn concurrent_operations(stage: &Stage) {
    let letters = Letters::new();
    let (one, two) = (stage.start().await, stage.start().await);
    let _relays = (
        letters.relay(stage).start().await,
        letters.relay(stage).start().await,
    );
    let addresses = [one.address(), two.address()];
    let answers = all_at_once(24, |index| {
        let script = queueing(
            "both",
            &[
                ordered("t", json!(index), "o"),
                ordered("t", json!(index), "o"),
            ],
        );
        let request = ask(OUTBOX, &format!("k{index}"), &script);
        async move {
            send(addresses[index % 2], &request)
                .await
                .expect("an answer")
        }
    })
    .await;
    let done = answers.iter().filter(|answer| answer.status == 201).count();
    assert!(done > 0, "{answers:#?}");
    let arrived = letters.arrived(stage, 2 * done).await;
    assert_eq!(arrived.len(), 2 * done);
    let sent: Vec<_> = firsts(&arrived)
        .iter()
        .map(|letter| super::plain(letter["id"].as_str().unwrap()))
        .collect();
    assert_eq!(sent, super::ids(stage).await);
    // One transaction's messages are side by side: nobody else had the order meanwhile.
    for pair in payloads(&arrived).chunks(2) {
        assert_eq!(pair[0], pair[1]);
    }
}

/// The second one queues while the first one's transaction is open, and has to wait: otherwise it would be sent before.
async fn who_commits_first_is_first(stage: &Stage) {
    let letters = Letters::new();
    let (app, other) = (stage.start().await, stage.start().await);
    let _relay = letters.relay(stage).start().await;
    let mut script = queueing("first", &[ordered("t", json!("first"), "o")]);
    script["gate"] = json!("first");
    let first = app.send_in_background(&ask(OUTBOX, "first", &script));
    app.reached("first", 1).await;
    let script = queueing("second", &[ordered("t", json!("second"), "o")]);
    let second = other.send_in_background(&ask(OUTBOX, "second", &script));
    until("the second one waits", || async {
        let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
             WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted";
        (stage.database.number(waiting).await == 1).then_some(())
    })
    .await;
    // Another order is another matter.
    queue(&other, "beside", &[ordered("t", json!("beside"), "p")]).await;
    letters.arrived(stage, 1).await;
    app.open_gate("first").await;
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(second.await.unwrap().status, 201);
    assert_eq!(
        payloads(&letters.arrived(stage, 3).await),
        ["beside", "first", "second"]
    );
}

/// A relay whose time is over says that the second message has failed, at the very moment at which another one takes the
/// three of them.
async fn what_a_late_relay_puts_off_is_not_passed_by(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let messages = [1, 2, 3].map(|number| ordered("t", json!(number), "o"));
    queue(&app, "k", &messages).await;
    let mut late = AsyncPgConnection::establish(stage.database.url())
        .await
        .unwrap();
    let put_off =
        "BEGIN; UPDATE idempotency_outbox SET available_at = clock_timestamp() + interval '1 hour'
         WHERE position = (SELECT min(position) + 1 FROM idempotency_outbox)";
    late.batch_execute(put_off).await.unwrap();
    let _relay = letters.relay(stage).start().await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until("the other one has begun to take them", || async {
        let has_begun = !letters.all().is_empty() || stage.database.number(waiting).await > 0;
        has_begun.then_some(())
    })
    .await;
    late.batch_execute("COMMIT").await.unwrap();
    queue(&app, "loose", &[message("t", json!("loose"))]).await;
    let first_two = until("it has taken what is free", || async {
        let letters = letters.all();
        let is_behind = letters.iter().any(|letter| letter["payload"] == "loose");
        is_behind.then_some(letters)
    })
    .await;
    assert_eq!(
        numbers(&first_two),
        [1],
        "the third one has passed the second one by"
    );
    let bring =
        "UPDATE idempotency_outbox SET available_at = clock_timestamp() WHERE sent_at IS NULL";
    stage.database.execute(bring).await;
    let arrived = letters.arrived(stage, 4).await;
    assert_eq!(numbers(&arrived), [1, 2, 3]);
}

fn numbers(letters: &[Value]) -> Vec<&Value> {
    let payloads = payloads(letters).into_iter();
    payloads.filter(|payload| payload.is_number()).collect()
}
