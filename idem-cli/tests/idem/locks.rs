//! What somebody else has locked is waited for, and not without end.

use std::process::{Child, Stdio};

use crate::common::Said;
use crate::common::app;
use crate::common::holder::Holder;
use crate::common::place::{Place, on_each};
use idem_tests::{Backend, until};

on_each! {
    a_lock_is_not_waited_for_without_end,
    a_lock_on_an_order_is_not_waited_for_without_end,
    a_lock_that_is_let_go_of_in_time_is_no_reason,
}

const KEYS: &str = "UPDATE idempotency_keys SET endpoint = endpoint";
const OUTBOX: &str = "UPDATE idempotency_outbox SET topic = topic";
const DEAD: &str = "SELECT count(*) FROM idempotency_outbox WHERE dead_at IS NOT NULL";
const BECAUSE: &str = "given up: somebody else has held a lock";

fn started(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn ended(child: Child) -> Said {
    Said::of(child.wait_with_output().unwrap())
}

async fn a_lock_is_not_waited_for_without_end(place: &Place) {
    app::unresolved(place, "k").await;
    let id = app::dead_message(place, "m").await;
    let mut holder = Holder::of(place, KEYS).await;
    holder.execute(OUTBOX).await;
    let scope = "account:alice";
    let commands = [
        &["keys", "release", scope, "k", "--yes"][..],
        &[
            "keys", "settle", scope, "k", "--status", "201", "--retain", "1h", "--yes",
        ],
        &["outbox", "retry", &id, "--yes"],
        &["outbox", "drop", &id, "--yes"],
    ];
    let waiting = commands.map(|args| started(place, args));
    for waiting in waiting {
        let said = ended(waiting).refused(BECAUSE);
        assert_eq!(said.audit()["outcome"], "not done");
    }
    holder.end().await;
    assert_eq!(place.database.number(DEAD).await, 1);
    assert_eq!(place.database.pending().await, 1);
    place.idem(commands[0]).done();
}

/// On PostgreSQL the order of an ordering key is a lock of its own. The number is known by who holds it.
async fn a_lock_on_an_order_is_not_waited_for_without_end(place: &Place) {
    if place.database.backend() != Backend::Postgres {
        return;
    }
    let id = app::dead_message(place, "m").await;
    let ordered = "UPDATE idempotency_outbox SET ordering_key = 'order'";
    place.database.execute(ordered).await;
    let holder = Holder::of(place, OUTBOX).await;
    let retry = ["outbox", "retry", &id, "--yes"];
    let waiting = started(place, &retry);
    let numbers = "SELECT coalesce(max((classid::bigint << 32) | objid::bigint), 0) FROM pg_locks \
                   JOIN pg_database ON pg_database.oid = database \
                   WHERE locktype = 'advisory' AND datname = current_database()";
    let number = until("it has the lock of the order", async || {
        Some(place.database.number(numbers).await).filter(|number| *number != 0)
    })
    .await;
    ended(waiting).refused(BECAUSE);
    holder.end().await;
    let lock = format!("SELECT pg_advisory_xact_lock({number})");
    let holder = Holder::of(place, &lock).await;
    place.idem(&retry).refused(BECAUSE);
    assert_eq!(place.database.number(DEAD).await, 1);
    holder.end().await;
    place.idem(&retry).done();
    assert_eq!(place.database.number(DEAD).await, 0);
}

async fn a_lock_that_is_let_go_of_in_time_is_no_reason(place: &Place) {
    app::unresolved(place, "k").await;
    let holder = Holder::of(place, KEYS).await;
    let file = place.path().join("audit.log");
    let audit = file.to_str().unwrap();
    let args = [
        "keys",
        "release",
        "account:alice",
        "k",
        "--yes",
        "--audit",
        audit,
    ];
    let waiting = started(place, &args);
    until("it is about to change the row", async || {
        file.exists().then_some(())
    })
    .await;
    holder.end().await;
    ended(waiting).done();
}
