//! What the checkout page asks the network to do, on the wire: and only to whom asks for it. What becomes of an order is
//! the business of the tests in a browser.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::{ErrorKind, Read};
use std::net::TcpStream;

use common::{Orders, Request, on_postgres, until};

const ORDERS: &str = "SELECT count(*) FROM orders";

fn asking(order: &Request, fault: &str) -> Request {
    let line = format!("X-Demo-Fault: {fault}\r\nContent-Type: ");
    order.with("Content-Type: ", &line)
}

/// All that comes until the connection ends.
fn heard(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_lost_answer_is_that_of_an_order() {
    let mut orders = Orders::on_sqlite();
    let [order, ..] = orders.commands::<1>();
    for _ in 0..2 {
        assert_eq!(heard(asking(&order, "answer-lost").begin()), b"");
        assert_eq!(orders.number(ORDERS), 1);
    }
    let recovered = order.send();
    assert_eq!(recovered.header("idempotent-replayed"), Some("true"));
    assert_eq!(recovered.status, 201);
}

#[test]
fn a_lost_request_is_not_seen_by_its_handler() {
    let mut orders = Orders::on_sqlite();
    let [order] = orders.commands();
    assert_eq!(heard(asking(&order, "request-lost").begin()), b"");
    assert_eq!(orders.number(ORDERS), 0);
    let first = order.send();
    assert_eq!(
        (first.status, first.header("idempotent-replayed")),
        (201, None)
    );
}

#[test]
fn silence_is_that_of_an_order() {
    let mut orders = Orders::on_sqlite();
    let [order] = orders.commands();
    let silent = asking(&order, "silent").begin();
    until(|| (orders.number(ORDERS) == 1).then_some(()));
    // It holds nobody up, and the same operation neither.
    let recovered = order.send();
    assert_eq!(recovered.header("idempotent-replayed"), Some("true"));
    silent.set_nonblocking(true).unwrap();
    let nothing = silent.peek(&mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
}

#[test]
fn what_it_does_not_know_is_refused() {
    let mut orders = Orders::on_sqlite();
    let [order] = orders.commands();
    let refused = asking(&order, "earthquake").send();
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(orders.number(ORDERS), 0);
}

#[test]
fn another_path_than_that_of_orders_is_left_alone() {
    let mut orders = Orders::on_sqlite();
    let [order] = orders.commands();
    for path in ["/metrics", "/receipts", "/checkout/", "/orders/1"] {
        let asking = Request::get(&order.address, path).with(
            "Authorization",
            "X-Demo-Fault: request-lost\r\nAuthorization",
        );
        let plain = Request::get(&order.address, path).send().status;
        assert_eq!(asking.send().status, plain, "{path}");
    }
}

/// A database that may be somebody's, and nobody has said that this is a demonstration.
#[test]
fn with_postgres_it_is_there_only_where_it_is_wanted() {
    on_postgres("faults", |mut orders| {
        let [order] = orders.commands();
        for fault in ["request-lost", "answer-lost", "earthquake"] {
            assert_eq!(asking(&order, fault).send().status, 201, "{fault}");
        }
        orders.restart_with(&[("ORDERS_DEMO_FAULTS", "1")]);
        let [order] = orders.commands();
        assert_eq!(heard(asking(&order, "request-lost").begin()), b"");
        orders.restart_with(&[("ORDERS_DEMO_FAULTS", "0")]);
        let [order] = orders.commands();
        assert_eq!(asking(&order, "request-lost").send().status, 201);
    });
}

#[test]
fn the_page_is_served_and_nothing_may_be_added_to_it() {
    let mut orders = Orders::on_sqlite();
    orders.says("/checkout/");
    let [order] = orders.commands();
    for (path, media_type) in [
        ("/checkout/", "text/html; charset=utf-8"),
        ("/checkout/checkout.css", "text/css; charset=utf-8"),
        ("/checkout/checkout.js", "text/javascript; charset=utf-8"),
        ("/checkout/basket.js", "text/javascript; charset=utf-8"),
        (
            "/checkout/idempotent-fetch.js",
            "text/javascript; charset=utf-8",
        ),
        ("/checkout/icon.svg", "image/svg+xml"),
    ] {
        let file = Request::get(&order.address, path).send();
        assert_eq!(
            (file.status, file.header("content-type")),
            (200, Some(media_type)),
            "{path}"
        );
        let policy = file.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; "),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    for path in ["/", "/checkout"] {
        let led = Request::get(&order.address, path).send();
        assert_eq!(
            (led.status, led.header("location")),
            (307, Some("/checkout/"))
        );
    }
    let absent = Request::get(&order.address, "/checkout/nothing").send();
    assert_eq!(absent.status, 404);
}
