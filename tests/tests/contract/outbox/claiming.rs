//! How much a relay takes at once, and what becomes of what it has taken without knowing.

use idem_tests::{Backend, Cut, Proxy, Stage, on_all, on_postgres, on_servers, until};
use serde_json::{Value, json};

use super::{Letters, message, ordered, payloads, queue, under, with};
use crate::words::words;

/// Longer than any test waits.
const LONG: (&str, u32) = ("--relay-claim-ms", 60_000);

on_all! {
    headers_have_room_in_memory_as_payloads_have,
}

on_servers! {
    what_was_taken_without_an_answer_is_given_back,
    what_cannot_be_given_back_holds_nobody_up,
}

on_postgres! {
    a_batch_that_comes_too_late_becomes_smaller,
    a_batch_that_is_not_answered_in_time_becomes_smaller,
}

/// Some in an order, some in none.
fn messages(count: usize) -> Vec<Value> {
    let message = |number| match number % 2 {
        0 => ordered("t", json!(number), "o"),
        _ => message("t", json!(number)),
    };
    (0..count).map(message).collect()
}

/// Its time has run out when it comes, whoever takes it.
async fn a_batch_that_comes_too_late_becomes_smaller(stage: &Stage) {
    const COUNT: usize = 20;
    let letters = Letters::new();
    let app = stage.start().await;
    queue(&app, "k", &messages(COUNT)).await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE UPDATE ON idempotency_outbox FOR EACH ROW
         WHEN (NEW.owner IS NOT NULL) EXECUTE FUNCTION slow()";
    stage.database.execute(slow).await;
    let options = [("--relay-batch", COUNT as u32), ("--relay-claim-ms", 1_000)];
    let _relay = with(letters.relay(stage), &options).start().await;
    letters.arrived(stage, COUNT).await;
}

async fn a_batch_that_is_not_answered_in_time_becomes_smaller(stage: &Stage) {
    const COUNT: usize = 16;
    let letters = Letters::new();
    let app = stage.start().await;
    queue(&app, "k", &messages(COUNT)).await;
    // Left alone, the statement would keep its messages for longer than this test waits.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF (SELECT count(*) FROM changed WHERE owner IS NOT NULL) > 8 THEN PERFORM pg_sleep(100); END IF;
         RETURN NULL; END $$;
         CREATE TRIGGER slow AFTER UPDATE ON idempotency_outbox REFERENCING NEW TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION slow()";
    stage.database.execute(slow).await;
    let options = [("--relay-batch", COUNT as u32), LONG];
    let _relay = with(letters.relay(stage), &options).start().await;
    letters.arrived(stage, COUNT).await;
}

/// The server has done it, and nobody learns what.
async fn what_was_taken_without_an_answer_is_given_back(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    queue(&app, "k", &messages(6)).await;
    let proxy = Proxy::to(&stage.database).await;
    proxy.cut(Cut::After(words(stage.backend()).taken.into()));
    let relay = with(letters.relay(stage), &[LONG]).database_url(proxy.url());
    let _relay = relay.start().await;
    let arrived = letters.arrived(stage, 6).await;
    assert!(!proxy.is_cut_pending());
    let in_order: Vec<_> = payloads(&arrived)
        .into_iter()
        .filter(|number| number.as_u64().unwrap() % 2 == 0)
        .collect();
    assert_eq!(in_order, [0, 2, 4]);
}

/// It comes back by itself, when its time is over.
async fn what_cannot_be_given_back_holds_nobody_up(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    queue(&app, "k", &messages(6)).await;
    let given_back = "OLD.owner IS NOT NULL AND NEW.owner IS NULL AND NEW.sent_at IS NULL";
    let slow = match stage.backend() {
        Backend::Mysql => format!(
            "CREATE TRIGGER slow BEFORE UPDATE ON idempotency_outbox FOR EACH ROW
             IF {given_back} THEN DO sleep(100); END IF"
        ),
        _ => format!(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN PERFORM pg_sleep(100); RETURN NEW; END $$;
             CREATE TRIGGER slow BEFORE UPDATE ON idempotency_outbox FOR EACH ROW
             WHEN ({given_back}) EXECUTE FUNCTION slow()"
        ),
    };
    stage.database.execute(&slow).await;
    let proxy = Proxy::to(&stage.database).await;
    proxy.cut(Cut::After(words(stage.backend()).taken.into()));
    let relay = with(letters.relay(stage), &[LONG]).database_url(proxy.url());
    let _relay = relay.start().await;
    until("it has been cut", || async {
        (!proxy.is_cut_pending()).then_some(())
    })
    .await;
    queue(&app, "after", &[message("t", json!("after"))]).await;
    until("it goes on", || async {
        (payloads(&letters.all()) == ["after"]).then_some(())
    })
    .await;
}

async fn headers_have_room_in_memory_as_payloads_have(stage: &Stage) {
    let letters = Letters::new();
    let app = stage.start().await;
    let waits = |message| under(message, json!([["X-Gate", "here"]]));
    let messages: Vec<_> = messages(8).into_iter().map(waits).collect();
    queue(&app, "k", &messages).await;
    // 5 MiB each, in signs of two bytes; 16 are the bound.
    let long = match stage.backend() {
        Backend::Postgres => "repeat('ü', 2621440)",
        Backend::Mysql => "repeat('ü', 2621440)",
        Backend::Sqlite => "replace(hex(zeroblob(2621440)), '00', 'ü')",
    };
    let grow = format!(
        "UPDATE idempotency_outbox SET headers = replace(headers, ']]', '],[\"Long\",\"' || {long} || '\"]]')"
    );
    stage.database.execute(&grow).await;
    let relay = with(letters.relay(stage), &[LONG]).start().await;
    until("it publishes", || async {
        (relay.entered("publish:t").await > 0).then_some(())
    })
    .await;
    let taken = "SELECT count(*) FROM idempotency_outbox WHERE owner IS NOT NULL";
    assert_eq!(stage.database.number(taken).await, 4);
    relay.open_gate("here").await;
    letters.arrived(stage, 8).await;
}
