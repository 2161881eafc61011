//! The program is killed while it calls the courier: whatever the moment, the parcel is booked once, and the client
//! that sends its request again gets an answer.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Orders, Request, Response, on_postgres, until};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn killed_before_the_booking_on_sqlite() {
    killed_before_the_booking(Orders::on_sqlite());
}

#[test]
fn killed_before_the_booking_on_postgres() {
    on_postgres("before", killed_before_the_booking);
}

#[test]
fn killed_behind_the_booking_on_sqlite() {
    killed_behind_the_booking(Orders::on_sqlite());
}

#[test]
fn killed_behind_the_booking_on_postgres() {
    on_postgres("behind", killed_behind_the_booking);
}

/// The courier knows nothing, so that the reconciler lets the retry run.
fn killed_before_the_booking(mut orders: Orders) {
    let (ship, first) = shipping(&mut orders);
    until(|| is_shipped(&ship.address).then_some(()));
    drop(first);
    let answer = shipped_after_restart(&mut orders, &ship);
    assert_eq!(parcels(orders.directory()), 1, "{answer:?}");
}

/// The courier has the parcel, so that the reconciler gives the answer.
fn killed_behind_the_booking(mut orders: Orders) {
    let (ship, first) = shipping(&mut orders);
    until(|| (parcels(orders.directory()) == 1).then_some(()));
    drop(first);
    let answer = shipped_after_restart(&mut orders, &ship);
    assert_eq!(parcels(orders.directory()), 1, "{answer:?}");
}

/// An order, and the request to ship it, which is under way.
fn shipping(orders: &mut Orders) -> (Request, std::net::TcpStream) {
    let [order, _, _, _, ship] = orders.commands();
    assert_eq!(order.send().status, 201);
    let first = ship.begin();
    (ship, first)
}

/// What a client gets that sends its request until there is an answer.
fn shipped_after_restart(orders: &mut Orders, ship: &Request) -> Response {
    orders.restart();
    let [Request { address, .. }] = orders.commands();
    let ship = ship.to(&address);
    let start = Instant::now();
    let answer = loop {
        let answer = ship.send();
        if answer.status != 409 {
            break answer;
        }
        let code = answer.json()["code"].clone();
        assert!(
            code == "idempotency-in-flight" || code == "idempotency-unresolved",
            "{answer:?}"
        );
        assert!(start.elapsed() < PATIENCE, "{answer:?}");
        sleep(Duration::from_millis(100));
    };
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.json()["order_id"], 1);
    let again = ship.send();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.repeated(), answer.repeated());
    assert!(is_shipped(&address));
    answer
}

/// Whether the first step is done.
fn is_shipped(address: &str) -> bool {
    Request::get(address, "/orders/1").send().json()["shipped"] == true
}

/// How many the courier has.
fn parcels(directory: &Path) -> usize {
    fs::read_dir(directory.join("courier")).map_or(0, Iterator::count)
}
