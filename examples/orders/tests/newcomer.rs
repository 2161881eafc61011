//! The program starts from nothing, and the commands that it prints do what it says: on SQLite, and on
//! PostgreSQL where `IDEM_TEST_POSTGRES_URL` names a server, as `cargo xtask test` does.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::net::TcpListener;
use std::process::Command;

use common::{Orders, Request, on_postgres, until};

#[test]
fn the_printed_commands_do_what_is_said_on_sqlite() {
    the_printed_commands_do_what_is_said(Orders::on_sqlite());
}

#[test]
fn the_printed_commands_do_what_is_said_on_postgres() {
    on_postgres("commands", the_printed_commands_do_what_is_said);
}

fn the_printed_commands_do_what_is_said(mut orders: Orders) {
    let [first, retry, receipts, other, ship] = orders.commands();

    let created = first.send();
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.header("idempotent-replayed"), None);
    assert_eq!(created.header("location"), Some("/orders/1"));
    assert_eq!(created.json()["total_cents"], 900);

    let replayed = retry.send();
    assert_eq!(
        replayed.header("idempotent-replayed"),
        Some("true"),
        "{replayed:?}"
    );
    assert_eq!(replayed.repeated(), created.repeated());

    let receipt = until(|| {
        let receipts = receipts.send().json();
        receipts.as_array().unwrap().first().cloned()
    });
    assert_eq!(receipt["order_id"], 1);

    let refused = other.send();
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(refused.json()["code"], "idempotency-key-reused");

    let shipped = ship.send();
    assert_eq!(shipped.status, 201, "{shipped:?}");
    let again = ship.send();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.repeated(), shipped.repeated());

    let all = Request::get(&first.address, "/orders").send();
    assert_eq!(all.json().as_array().map(Vec::len), Some(1), "{all:?}");
}

#[test]
fn a_taken_port_is_a_clear_message() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_orders"))
        .current_dir(directory.path())
        .env("PORT", &port)
        .env_remove("DATABASE_URL")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("port {port} is taken")), "{said}");
}
