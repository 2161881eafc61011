//! A dead message that is sent after all is one more at the end of its order.

use idem_tests::{App, Request, Stage, on_all, on_postgres, until};
use serde_json::{Value, json};

use super::{Letters, OUTBOX, dead, message, ordered, payloads, queue, queueing, under, with};
use crate::asking::ask;

on_all! {
    it_does_not_overtake_what_is_being_published,
    its_number_does_not_come_again,
    it_is_requeued_in_a_transaction_or_outside_of_one,
    all_dead_ones_are_listed_page_by_page,
}

on_postgres! {
    whoever_requeues_waits_for_whoever_queues,
}

/// Page by page, also while some of them are requeued and die again.
async fn all_dead_ones_are_listed_page_by_page(stage: &Stage) {
    let letters = Letters::new();
    let app = relay(&letters, stage).await;
    let refuse = |number| {
        under(
            message(&format!("t{number}"), json!(number)),
            json!([["X-Refuse", "yes"]]),
        )
    };
    let messages: Vec<_> = (0..5).map(refuse).collect();
    queue(&app, "k", &messages).await;
    letters.arrived(stage, 0).await;
    let page = async |after: Option<i64>| {
        let after = after.map_or(String::new(), |after| format!("&after={after}"));
        let page = Request::get(&format!("/dead?limit=2{after}"));
        let page = app.send(&page).await.json();
        let page = page.as_array().unwrap().clone();
        let last = page.last().map(|dead| dead["position"].as_i64().unwrap());
        let topics: Vec<_> = page.iter().map(|dead| dead["topic"].to_string()).collect();
        (topics.join(" "), last, page)
    };
    let (topics, last, first) = page(None).await;
    assert_eq!(topics, r#""t0" "t1""#);
    let id = first[0]["id"].as_str().unwrap();
    assert_eq!(app.send(&requeue(id, false)).await.text(), "true");
    letters.arrived(stage, 0).await;
    let (topics, last, _) = page(last).await;
    assert_eq!(topics, r#""t2" "t3""#);
    let (topics, last, _) = page(last).await;
    assert_eq!(topics, r#""t4" "t0""#);
    assert_eq!(page(last).await.0, "");
}

/// Fails once, and is dead.
fn failing(message: Value) -> Value {
    under(message, json!([["X-Fail", "1"]]))
}

/// A relay that gives up at once.
async fn relay(letters: &Letters, stage: &Stage) -> App {
    let options = [("--relay-attempts", 1), ("--relay-claim-ms", 60_000)];
    with(letters.relay(stage), &options).start().await
}

async fn dead_id(app: &App) -> String {
    let id = until("it is dead", || async {
        let dead = dead(app).await;
        dead.first()
            .map(|dead| dead["id"].as_str().unwrap().to_owned())
    });
    id.await
}

fn requeue(id: &str, in_transaction: bool) -> Request {
    Request::post(&format!("/requeue?id={id}&in_transaction={in_transaction}"))
}

/// What it died of is mended.
async fn mend(stage: &Stage) {
    let mend = "UPDATE idempotency_outbox SET headers = '[]' WHERE dead_at IS NOT NULL";
    stage.database.execute(mend).await;
}

async fn newest(stage: &Stage) -> i64 {
    let newest = "SELECT coalesce(max(position), 0) FROM idempotency_outbox";
    stage.database.number(newest).await
}

/// One relay has the messages behind it in hand when it is requeued, and another one looks.
async fn it_does_not_overtake_what_is_being_published(stage: &Stage) {
    let letters = Letters::new();
    let one = relay(&letters, stage).await;
    let messages = [
        failing(ordered("first", json!("first"), "o")),
        under(
            ordered("t", json!("second"), "o"),
            json!([["X-Gate", "here"]]),
        ),
        ordered("t", json!("third"), "o"),
    ];
    queue(&one, "k", &messages).await;
    one.reached("here", 1).await;
    let id = dead_id(&one).await;
    mend(stage).await;
    assert_eq!(one.send(&requeue(&id, false)).await.text(), "true");
    let other = relay(&letters, stage).await;
    // The second of these is taken by a turn that began when the first had arrived.
    for number in 1..=2 {
        let beside = message("beside", json!(number));
        queue(&other, &format!("beside{number}"), &[beside]).await;
        until("the other one has sent it", || async {
            (letters.all().len() == number).then_some(())
        })
        .await;
    }
    assert_eq!(other.entered("publish:beside").await, 2);
    assert_eq!(other.entered("publish:first").await, 0, "out of its order");
    one.open_gate("here").await;
    let arrived = letters.arrived(stage, 5).await;
    assert_eq!(payloads(&arrived)[2..], ["second", "third", "first"]);
}

/// Also when the row has gone.
async fn its_number_does_not_come_again(stage: &Stage) {
    let letters = Letters::new();
    let app = relay(&letters, stage).await;
    let messages = [
        failing(ordered("t", json!("first"), "o")),
        message("t", json!("second")),
    ];
    queue(&app, "k", &messages).await;
    let before = newest(stage).await;
    let id = dead_id(&app).await;
    mend(stage).await;
    assert_eq!(app.send(&requeue(&id, false)).await.text(), "true");
    letters.arrived(stage, 2).await;
    let requeued = newest(stage).await;
    assert!(requeued > before, "{requeued} is not behind {before}");
    stage
        .database
        .execute("DELETE FROM idempotency_outbox")
        .await;
    queue(&app, "after", &[message("t", json!("third"))]).await;
    let after = newest(stage).await;
    assert!(after > requeued, "{after} is not behind {requeued}");
}

async fn it_is_requeued_in_a_transaction_or_outside_of_one(stage: &Stage) {
    let letters = Letters::new();
    let app = relay(&letters, stage).await;
    for (number, in_transaction) in [true, false].into_iter().enumerate() {
        for (count, message) in [ordered("t", json!(1), "o"), message("t", json!(2))]
            .into_iter()
            .enumerate()
        {
            queue(&app, &format!("k{number}{count}"), &[failing(message)]).await;
            let id = dead_id(&app).await;
            mend(stage).await;
            let asked = requeue(&id, in_transaction);
            assert_eq!(app.send(&asked).await.text(), "true");
            let arrived = letters.arrived(stage, number * 2 + count + 1).await;
            assert_eq!(arrived.last().unwrap()["attempt"], 1);
            assert_eq!(app.send(&asked).await.text(), "false", "it is not dead");
        }
    }
}

/// Their numbers are in the order of their commits.
async fn whoever_requeues_waits_for_whoever_queues(stage: &Stage) {
    let letters = Letters::new();
    let app = relay(&letters, stage).await;
    queue(&app, "dies", &[failing(ordered("t", json!("dies"), "o"))]).await;
    let id = dead_id(&app).await;
    mend(stage).await;
    for in_transaction in [false, true] {
        let key = format!("queues{in_transaction}");
        let mut script = queueing(&key, &[failing(ordered("t", json!(key), "o"))]);
        script["gate"] = json!(key);
        let queues = app.send_in_background(&ask(OUTBOX, &key, &script));
        app.reached(&key, 1).await;
        let requeues = app.send_in_background(&requeue(&id, in_transaction));
        until("it waits", || async {
            let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                 WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted";
            (stage.database.number(waiting).await == 1).then_some(())
        })
        .await;
        app.open_gate(&key).await;
        assert_eq!(queues.await.unwrap().status, 201);
        assert_eq!(requeues.await.unwrap().text(), "true");
        let behind = format!(
            "SELECT count(*) FROM idempotency_outbox
             WHERE message_id = '{id}' AND position = (SELECT max(position) FROM idempotency_outbox)"
        );
        assert_eq!(stage.database.number(&behind).await, 1);
        // Once more with the same one.
        let kill = format!(
            "UPDATE idempotency_outbox SET dead_at = clock_timestamp(), sent_at = NULL WHERE message_id = '{id}'"
        );
        letters.arrived(stage, 1).await;
        stage.database.execute(&kill).await;
    }
}
