//! A relay is woken by the commit, and needs nobody to be woken.

use std::pin::pin;
use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::StreamExt;
use idem_tests::{Launch, Proxy, Stage, all_at_once, on_postgres, send};
use serde_json::json;

use tokio::time::{Instant, timeout};

use super::{Letters, OUTBOX, message, queue, queueing, under, with};
use crate::asking::ask;

/// It does not look by itself while a test runs.
const HOUR: (&str, u32) = ("--relay-poll-ms", 3_600_000);

on_postgres! {
    a_commit_wakes,
    many_commits_wake_once_in_a_while,
    what_is_put_off_needs_no_waking,
    a_lost_connection_is_made_anew,
    without_it_the_relay_looks_by_itself,
}

fn sleeping(letters: &Letters, stage: &Stage) -> Launch {
    with(letters.relay(stage), &[HOUR])
}

async fn a_commit_wakes(stage: &Stage) {
    let letters = Letters::new();
    let _relay = sleeping(&letters, stage).start().await;
    let app = stage.start().await;
    for number in 1..=5 {
        queue(&app, &format!("k{number}"), &[message("t", json!(number))]).await;
        assert_eq!(letters.arrived(stage, number).await.len(), number);
    }
}

/// PostgreSQL lets one transaction that notifies commit at a time.
async fn many_commits_wake_once_in_a_while(stage: &Stage) {
    const COUNT: usize = 60;
    let app = stage.start().await;
    let mut listening = AsyncPgConnection::establish(stage.database.url())
        .await
        .unwrap();
    let listen = "LISTEN idempotency_outbox";
    listening.batch_execute(listen).await.unwrap();
    let address = app.address();
    let start = Instant::now();
    let answers = all_at_once(COUNT, |index| {
        let script = queueing("many", &[message("t", json!(index))]);
        let request = ask(OUTBOX, &format!("k{index}"), &script);
        async move { send(address, &request).await.expect("an answer") }
    })
    .await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    // Behind the last of them.
    let silence = Duration::from_millis(500);
    let mut notifications = pin!(listening.notifications_stream());
    let (mut count, mut last) = (0, start);
    while let Ok(notification) = timeout(silence, notifications.next()).await {
        notification.unwrap().unwrap();
        (count, last) = (count + 1, Instant::now());
    }
    let most = last.duration_since(start).as_millis() / 10 + 1;
    assert!(count > 0 && count <= most, "{count} notifications");
}

async fn what_is_put_off_needs_no_waking(stage: &Stage) {
    let letters = Letters::new();
    let _relay = sleeping(&letters, stage).start().await;
    let app = stage.start().await;
    let mut late = message("t", json!("late"));
    late["delay_ms"] = json!(600);
    let failing = under(message("t", json!("failing")), json!([["X-Fail", "2"]]));
    queue(&app, "k", &[late, failing]).await;
    assert_eq!(letters.arrived(stage, 2).await.len(), 2);
}

async fn a_lost_connection_is_made_anew(stage: &Stage) {
    let letters = Letters::new();
    let proxy = Proxy::to(&stage.database).await;
    let relay = sleeping(&letters, stage).database_url(proxy.url());
    let _relay = relay.start().await;
    let app = stage.start().await;
    queue(&app, "before", &[message("t", json!(1))]).await;
    letters.arrived(stage, 1).await;
    proxy.take_down().await;
    queue(&app, "meanwhile", &[message("t", json!(2))]).await;
    proxy.bring_up();
    letters.arrived(stage, 2).await;
    queue(&app, "after", &[message("t", json!(3))]).await;
    assert_eq!(letters.arrived(stage, 3).await.len(), 3);
}

/// From now on whoever queues wakes nobody.
async fn without_it_the_relay_looks_by_itself(stage: &Stage) {
    let letters = Letters::new();
    let _relay = letters.relay(stage).start().await;
    let name = stage
        .database
        .text("SELECT current_database()")
        .await
        .unwrap();
    let silence = format!(
        "ALTER DATABASE {name} SET search_path = public, pg_catalog;
         CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT 1'"
    );
    stage.database.execute(&silence).await;
    let app = stage.start().await;
    queue(&app, "k", &[message("t", json!(1))]).await;
    assert_eq!(letters.arrived(stage, 1).await.len(), 1);
}
