//! What has committed is sent, and nothing else.

use idem_tests::{Stage, asynchronous, in_both_styles, in_both_styles_on_sqlite};
use serde_json::{Value, json};

use super::{Letters, OUTBOX, ids, message, ordered, plain, queue, queueing, rows, under, unsent};
use crate::asking::{ask, assert_replay};

in_both_styles! {
    what_has_committed_arrives,
    what_was_rolled_back_is_never_sent,
    what_no_broker_takes_is_refused,
    not_before_its_time,
    a_key_that_is_used_again_sends_again,
}

asynchronous! { a_message_outside_of_a_transaction_is_refused }

in_both_styles_on_sqlite! { behind_the_end_of_the_transaction_nothing_is_queued }

async fn what_has_committed_arrives(stage: &Stage) {
    let letters = Letters::new();
    let (app, _relay) = (stage.start().await, letters.relay(stage).start().await);
    let headers = json!([["X-Kind", "first, one"]]);
    let messages = [
        under(
            message("orders.created", json!({ "order": 7 })),
            headers.clone(),
        ),
        message("mail", json!("hello")),
        ordered("orders.created", json!(3), "customer 7"),
    ];
    let request = ask(OUTBOX, "k", &queueing("sent", &messages));
    let first = app.send(&request).await;
    assert_eq!(first.status, 201, "{}", first.text());
    // A replay queues nothing.
    assert_replay(&first, &app.send(&request).await);
    let arrived = letters.arrived(stage, 3).await;
    assert_eq!(arrived.len(), 3, "{arrived:#?}");
    let find = |payload: Value| {
        let mut arrived = arrived.iter();
        arrived.find(|letter| letter["payload"] == payload).unwrap()
    };
    let order = find(json!({ "order": 7 }));
    assert_eq!(order["topic"], "orders.created");
    assert_eq!(order["headers"], headers);
    assert_eq!(order["content_type"], "application/json");
    assert_eq!(
        (&order["attempt"], &order["order"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(find(json!(3))["order"], "customer 7");
    let mut sent: Vec<_> = arrived
        .iter()
        .map(|letter| plain(letter["id"].as_str().unwrap()))
        .collect();
    let mut stored = ids(stage).await;
    sent.sort();
    stored.sort();
    assert_eq!(sent, stored);
}

async fn what_was_rolled_back_is_never_sent(stage: &Stage) {
    let letters = Letters::new();
    let (app, _relay) = (stage.start().await, letters.relay(stage).start().await);
    for (number, ending) in [
        json!({ "fail": "err" }),
        json!({ "fail": "err", "status": 404 }),
        json!({ "status": 409 }),
        json!({ "status": 503 }),
        json!({ "fail": "panic" }),
        json!({ "fail": "swallow" }),
        json!({ "fail": "endless" }),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k{number}");
        let mut script = queueing("rolled back", &[message("t", json!(number))]);
        for (name, value) in ending.as_object().unwrap() {
            script[name] = value.clone();
        }
        let answer = app.send(&ask(OUTBOX, &key, &script)).await;
        assert!(answer.status >= 400, "{ending}: {answer:?}");
        assert_eq!(rows(stage).await, 0, "{ending}");
    }
    queue(&app, "last", &[message("t", json!("last"))]).await;
    assert_eq!(letters.arrived(stage, 1).await.len(), 1);
}

async fn a_message_outside_of_a_transaction_is_refused(stage: &Stage) {
    let app = stage.start().await;
    let script = queueing("outside", &[message("t", json!(1))]);
    let answer = app.send(&ask("/rerun/script", "k", &script)).await;
    let said =
        "a message can only be queued on the connection of the handler, or of its running step";
    assert_eq!((answer.status, answer.text().as_str()), (500, said));
    assert_eq!(rows(stage).await, 0);
}

async fn what_no_broker_takes_is_refused(stage: &Stage) {
    let app = stage.start().await;
    let malformed = [
        message("", json!(1)),
        message("two words", json!(1)),
        under(message("t", json!(1)), json!([["X-A", "b\r\nX-C: d"]])),
    ];
    for (number, message) in malformed.into_iter().enumerate() {
        let script = queueing("malformed", &[message]);
        let answer = app.send(&ask(OUTBOX, &format!("k{number}"), &script)).await;
        assert_eq!(answer.status, 500, "{}", answer.text());
        assert!(answer.text().contains("malformed"), "{}", answer.text());
    }
    assert_eq!(rows(stage).await, 0);
}

async fn not_before_its_time(stage: &Stage) {
    let letters = Letters::new();
    let (app, _relay) = (stage.start().await, letters.relay(stage).start().await);
    let mut late = message("t", json!("late"));
    late["delay_ms"] = json!(1_000);
    queue(&app, "k", &[late, message("t", json!("now"))]).await;
    let arrived = letters.arrived(stage, 2).await;
    assert_eq!(super::payloads(&arrived), ["now", "late"]);
    let waited = match stage.backend() {
        idem_tests::Backend::Postgres => "extract(epoch FROM sent_at - enqueued_at) * 1000",
        idem_tests::Backend::Mysql => "timestampdiff(MICROSECOND, enqueued_at, sent_at) / 1000",
        idem_tests::Backend::Sqlite => "(julianday(sent_at) - julianday(enqueued_at)) * 86400000.0",
    };
    let waited = format!("SELECT CAST(max({waited}) AS integer) FROM idempotency_outbox");
    let waited = stage.database.number(&waited).await;
    assert!(waited >= 999, "{waited} ms");
}

/// Its record has expired, so that it is another operation; the row of its message is still there.
async fn a_key_that_is_used_again_sends_again(stage: &Stage) {
    let letters = Letters::new();
    let (app, _relay) = (stage.start().await, letters.relay(stage).start().await);
    queue(&app, "k", &[message("t", json!(1))]).await;
    letters.arrived(stage, 1).await;
    stage.database.expire_all().await;
    queue(&app, "k", &[message("t", json!(2))]).await;
    let arrived = letters.arrived(stage, 2).await;
    assert_eq!(super::payloads(&arrived), [1, 2]);
    assert_eq!(rows(stage).await, 2);
    assert_eq!(unsent(stage).await, 0);
}

/// A trigger has ended it, and what is written now commits by itself.
async fn behind_the_end_of_the_transaction_nothing_is_queued(stage: &Stage) {
    let app = stage.start().await;
    let mut script = queueing("vanished", &[]);
    script["fail"] = json!("swallow");
    script["afterwards"] = json!([message("t", json!(1))]);
    let answer = app.send(&ask(OUTBOX, "k", &script)).await;
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(
        app.log().contains("can only be queued in a transaction")
            || answer
                .text()
                .contains("can only be queued in a transaction"),
        "{}",
        answer.text()
    );
    assert_eq!(rows(stage).await, 0);
}
