//! The receipt of an order: one, whatever is retried and whoever is killed, and none for an order that was refused.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use async_nats::jetstream;
use common::{Orders, Request, Response, on_postgres, until};
use xtask::Nats;

/// Messages that nobody has taken yet.
const WAITING: &str = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NULL";
const QUEUED: &str = "SELECT count(*) FROM idempotency_outbox";

macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                super::$name(super::Orders::on_sqlite());
            })+
        }

        mod postgres {
            $(#[test]
            fn $name() {
                super::on_postgres(stringify!($name), super::$name);
            })+
        }
    };
}

on_both! {
    an_order_has_one_receipt,
    a_refused_order_has_none,
    killed_before_the_receipt_arrives,
    killed_behind_the_receipt,
    a_stop_waits_for_what_is_under_way,
    a_forged_receipt_is_refused,
    with_nats_it_is_in_the_stream,
}

fn an_order_has_one_receipt(mut orders: Orders) {
    let [order, _, receipts, ..] = orders.commands::<5>();
    let created = order.send();
    assert_eq!(created.status, 201, "{created:?}");
    for _ in 0..3 {
        let again = order.send();
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
    }
    is_sent(&orders);
    assert_eq!(orders.number(QUEUED), 1);
    is_the_receipt(&receipts.send());
}

fn a_refused_order_has_none(mut orders: Orders) {
    let [order, ..] = orders.commands::<1>();
    let refused = order
        .with("tea\",\"quantity\":2", "pot\",\"quantity\":2")
        .send();
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(orders.number(QUEUED), 0);
}

/// The order is committed, and its receipt has reached nobody.
fn killed_before_the_receipt_arrives(mut orders: Orders) {
    let (_receiver, _, _) = order_with_a_receipt_under_way(&mut orders);
    let receipts = after_restart(&mut orders);
    is_sent(&orders);
    is_the_receipt(&receipts.send());
}

/// The receipt has been taken, and nobody has told the relay so.
fn killed_behind_the_receipt(mut orders: Orders) {
    let (_receiver, order, receipt) = order_with_a_receipt_under_way(&mut orders);
    let taken = Request::raw(&order.address, receipt).send();
    assert_eq!(taken.status, 204, "{taken:?}");
    assert_eq!(orders.number(WAITING), 1);

    let receipts = after_restart(&mut orders);
    is_sent(&orders);
    is_the_receipt(&receipts.send());
}

fn a_stop_waits_for_what_is_under_way(mut orders: Orders) {
    let (mut receiver, ..) = order_with_a_receipt_under_way(&mut orders);
    orders.terminate();
    orders.says("orders stops");
    assert_eq!(orders.number(WAITING), 1);
    receiver
        .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
        .unwrap();
    assert!(orders.wait().success());
    assert_eq!(orders.number(WAITING), 0);
}

fn a_forged_receipt_is_refused(mut orders: Orders) {
    let (_receiver, order, receipt) = order_with_a_receipt_under_way(&mut orders);
    let receipt = Request::raw(&order.address, receipt);
    let forged = [
        receipt.with("\"total_cents\":900", "\"total_cents\":901"),
        receipt.with("webhook-signature: v1,", "webhook-signature: v1,A"),
        receipt.with("webhook-signature: ", "no-signature: "),
        // Nobody has signed this name of it.
        receipt.with("idempotency-key: \"", "idempotency-key: \"0"),
    ];
    for forged in forged {
        let refused = forged.send();
        assert_eq!(refused.status, 401, "{refused:?}");
    }
    assert_eq!(orders.number("SELECT count(*) FROM receipts"), 0);
    assert_eq!(receipt.send().status, 204);
    assert_eq!(orders.number("SELECT count(*) FROM receipts"), 1);
}

fn with_nats_it_is_in_the_stream(mut orders: Orders) {
    let nats = Nats::start().unwrap();
    orders.restart_with(&[("NATS_URL", &nats.url())]);
    let [order, ..] = orders.commands::<1>();
    assert_eq!(order.send().status, 201);
    is_sent(&orders);

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stored = runtime.block_on(async {
        let client = async_nats::connect(nats.url()).await.unwrap();
        let stream = jetstream::new(client).get_stream("orders").await.unwrap();
        stream.get_raw_message(1).await.unwrap()
    });
    assert_eq!(stored.subject.as_str(), "orders.receipt");
    let receipt: serde_json::Value = serde_json::from_slice(&stored.payload).unwrap();
    assert_eq!(receipt["total_cents"], 900);
}

/// An order, and its receipt as it has reached a receiver that does not answer.
fn order_with_a_receipt_under_way(orders: &mut Orders) -> (TcpStream, Request, String) {
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/receipts", receiver.local_addr().unwrap());
    orders.restart_with(&[("ORDERS_RECEIPTS_URL", &url)]);
    let [order] = orders.commands();
    let created = order.send();
    assert_eq!(created.status, 201, "{created:?}");
    let (stream, _) = receiver.accept().unwrap();
    let receipt = read(&stream);
    (stream, order, receipt)
}

/// One request, which asks for its connection to be closed when it is sent again.
fn read(stream: &TcpStream) -> String {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    let mut length = 0;
    while !request.ends_with("\r\n\r\n") {
        let start = request.len();
        stream.read_line(&mut request).unwrap();
        if let Some(value) = request[start..].strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let head = request.trim_end();
    let body = String::from_utf8(body).unwrap();
    format!("{head}\r\nconnection: close\r\n\r\n{body}")
}

/// Kills the program and starts it as a newcomer would; how to ask it for receipts.
fn after_restart(orders: &mut Orders) -> Request {
    orders.restart();
    let [_, _, receipts] = orders.commands();
    receipts
}

/// Returns when nothing is left to send.
fn is_sent(orders: &Orders) {
    until(|| (orders.number(WAITING) == 0).then_some(()));
}

#[track_caller]
fn is_the_receipt(receipts: &Response) {
    assert_eq!(receipts.status, 200, "{receipts:?}");
    let expected = serde_json::json!([{ "order_id": 1, "total_cents": 900 }]);
    assert_eq!(receipts.json(), expected);
}
