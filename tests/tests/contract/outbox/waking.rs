//! A relay is woken by the commit, and needs nobody to be woken.

use idem_tests::{Launch, Proxy, Stage, on_postgres};
use serde_json::json;

use super::{Letters, message, queue, under, with};

/// It does not look by itself while a test runs.
const HOUR: (&str, u32) = ("--relay-poll-ms", 3_600_000);

on_postgres! {
    a_commit_wakes,
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
