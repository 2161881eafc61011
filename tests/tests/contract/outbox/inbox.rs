//! A consumer works on a message once.

use idem_tests::{App, Request, Response, Stage, all_at_once, on_all, send};

on_all! {
    a_message_is_worked_on_once,
    work_that_fails_is_done_again,
    of_many_at_once_one_works,
    old_ones_are_forgotten,
}

const ID: &str = "0190a1b2-0000-7000-8000-000000000001";

fn receive(consumer: &str, label: &str) -> Request {
    Request::post(&format!("/inbox?id={ID}&consumer={consumer}&label={label}"))
}

async fn received(app: &App, consumer: &str, label: &str) -> String {
    app.send(&receive(consumer, label)).await.text()
}

async fn a_message_is_worked_on_once(stage: &Stage) {
    let (app, other) = (stage.start().await, stage.start().await);
    assert_eq!(received(&app, "mail", "work").await, "true");
    assert_eq!(received(&app, "mail", "work").await, "false");
    assert_eq!(received(&other, "mail", "work").await, "false");
    assert_eq!(received(&app, "audit", "work").await, "true");
    assert_eq!(stage.database.effects("work").await, 2);
}

async fn work_that_fails_is_done_again(stage: &Stage) {
    let app = stage.start().await;
    let fails = Request::post(&format!("/inbox?id={ID}&consumer=c&label=work&fail=true"));
    assert_eq!(app.send(&fails).await.status, 503);
    assert_eq!(stage.database.effects("work").await, 0);
    assert_eq!(received(&app, "c", "work").await, "true");
    assert_eq!(stage.database.effects("work").await, 1);
}

async fn of_many_at_once_one_works(stage: &Stage) {
    let (one, two) = (stage.start().await, stage.start().await);
    let addresses = [one.address(), two.address()];
    let answers: Vec<Response> = all_at_once(12, |index| async move {
        let receive = receive("c", "work");
        send(addresses[index % 2], &receive)
            .await
            .expect("an answer")
    })
    .await;
    let worked = answers
        .iter()
        .filter(|answer| answer.text() == "true")
        .count();
    // On SQLite one that meets a writer in the middle of its transaction is refused, and would come again.
    assert!(worked == 1, "{answers:#?}");
    assert_eq!(stage.database.effects("work").await, 1);
}

async fn old_ones_are_forgotten(stage: &Stage) {
    let app = stage.start().await;
    received(&app, "c", "work").await;
    let prune = Request::post("/inbox/prune");
    assert_eq!(app.send(&prune).await.text(), "0");
    let past = stage.backend().ago(2 * 60 * 60);
    let age = format!("UPDATE idempotency_inbox SET received_at = {past}");
    stage.database.execute(&age).await;
    assert_eq!(app.send(&prune).await.text(), "1");
    assert_eq!(received(&app, "c", "work").await, "true");
}
