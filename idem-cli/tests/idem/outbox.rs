//! `idem outbox`: dead messages are listed, sent after all, and forgotten.

use crate::common::app;
use crate::common::place::{Place, on_each};

on_each! {
    dead_messages_are_listed,
    one_is_sent_after_all,
    one_is_forgotten,
    only_dead_ones_are_changed,
    what_somebody_else_wrote_makes_no_line_of_its_own,
}

const WAITING: &str =
    "SELECT count(*) FROM idempotency_outbox WHERE dead_at IS NULL AND sent_at IS NULL";
const ALL: &str = "SELECT count(*) FROM idempotency_outbox";

async fn dead_messages_are_listed(place: &Place) {
    let first = app::dead_message(place, "k1").await;
    let second = app::dead_message(place, "k2").await;
    assert_ne!(first, second);
    let page = place
        .idem(&["outbox", "list", "--json", "--limit", "1"])
        .done()
        .json();
    assert_eq!(page["dead"][0]["id"], first);
    assert_eq!(page["dead"][0]["topic"], "orders.created");
    assert_eq!(page["dead"][0]["last_error"], "no such subject");
    assert_eq!(page["dead"][0]["attempts"], 3);
    let next = page["next"].to_string();
    let page = place
        .idem(&["outbox", "list", "--json", "--after", &next])
        .done()
        .json();
    assert_eq!(page["dead"][0]["id"], second);
    assert!(page["next"].is_null());
    let table = place.idem(&["outbox", "list"]).done().out;
    for cell in [
        &first,
        &second,
        "orders.created",
        "no such subject",
        "2 dead messages",
    ] {
        assert!(table.contains(cell), "{table}");
    }
}

async fn one_is_sent_after_all(place: &Place) {
    let id = app::dead_message(place, "k").await;
    place.idem(&["outbox", "retry", &id]).refused("say --yes");
    assert_eq!(place.database.number(WAITING).await, 0);
    let said = place
        .idem(&["outbox", "retry", &id, "--yes", "--json"])
        .done();
    assert_eq!(said.json()["outcome"], "queued");
    assert_eq!(
        (&said.audit()["command"], &said.audit()["row"]),
        (&"outbox retry".into(), &id.clone().into())
    );
    assert_eq!(place.database.number(WAITING).await, 1);
    let page = place.idem(&["outbox", "list", "--json"]).done().json();
    assert_eq!(
        (page["dead"].as_array().unwrap().len(), &page["overdue"]),
        (0, &1.into())
    );
}

async fn one_is_forgotten(place: &Place) {
    let id = app::dead_message(place, "k").await;
    let other = app::dead_message(place, "other").await;
    let said = place.idem(&["outbox", "drop", &id, "--yes"]).done();
    assert_eq!(said.audit()["outcome"], "dropped");
    assert_eq!(place.database.number(ALL).await, 1);
    place
        .idem(&["outbox", "drop", &id, "--yes"])
        .refused("no dead message with this id");
    assert_eq!(place.typed(&["outbox", "drop", &other], "no").code, 1);
    assert_eq!(place.database.number(ALL).await, 1);
}

async fn only_dead_ones_are_changed(place: &Place) {
    let id = app::dead_message(place, "k").await;
    place
        .database
        .execute("UPDATE idempotency_outbox SET dead_at = NULL")
        .await;
    for command in ["retry", "drop"] {
        place
            .idem(&["outbox", command, &id, "--yes"])
            .refused("no dead message with this id");
    }
    assert_eq!(place.database.number(WAITING).await, 1);
}

async fn what_somebody_else_wrote_makes_no_line_of_its_own(place: &Place) {
    app::dead_message(place, "k").await;
    let error = "no\nforged\u{202e}\u{2028}\u{9b}1mrow";
    let rewrite = format!("UPDATE idempotency_outbox SET last_error = '{error}'");
    place.database.execute(&rewrite).await;
    let table = place.idem(&["outbox", "list"]).done().out;
    let escaped = r"no\nforged\u{202e}\u{2028}\u{9b}1mrow";
    assert!(table.contains(escaped), "{table}");
    let is_forged = |line: &str| line.trim_start().starts_with("forged");
    assert!(!table.lines().any(is_forged), "{table}");
    let listed = place.idem(&["outbox", "list", "--json"]).done().json();
    assert_eq!(listed["dead"][0]["last_error"], error);
}
