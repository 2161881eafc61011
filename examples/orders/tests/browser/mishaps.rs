//! What happens between the page and the shop: lost answers, reloads in the middle, no network, a shop that dies.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

use crate::KEPT;
use crate::common::{Request, until};
use crate::tab::{Shop, visit};

/// Nobody else can write as long as this lives.
fn lock(shop: &Shop) -> SqliteConnection {
    let file = shop.orders.directory().join("orders.db");
    let mut database = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    database
        .batch_execute("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE")
        .unwrap();
    database
}

#[test]
fn a_lost_answer_is_recovered() {
    visit(async |shop, tab| {
        tab.suffer("answer-lost", 2).await;
        tab.press("order").await;
        tab.ends_as("recovered").await;
        let said = tab.said().await;
        assert!(said.starts_with("Order 1 is placed: €4.50."), "{said}");
        assert!(said.contains("Nothing was ordered twice."), "{said}");
        let seen = tab.seen().await;
        assert_eq!(seen.first().map(String::as_str), Some("sending"));
        assert!(seen.iter().any(|state| state == "retrying"), "{seen:?}");
        assert!(
            tab.text("trace")
                .await
                .ends_with("201, the answer to an earlier attempt")
        );
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn a_lost_request_is_sent_again() {
    visit(async |shop, tab| {
        tab.suffer("request-lost", 2).await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert!(tab.text("trace").await.contains("Attempt 3"));
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// The order is made, and the answer is on its way for as long as the page stays.
#[test]
fn a_reload_before_the_answer_orders_once() {
    visit(async |shop, tab| {
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();
        assert_eq!(tab.seen().await, ["sending"]);
        assert!(tab.run(KEPT).await.is_string());
        // What other tabs would know of it: the tab's own copy is enough.
        let forget = "() => new Promise((resolve) => {
            const opening = indexedDB.open('shop');
            opening.onsuccess = () => {
                const clearing = opening.result.transaction('baskets', 'readwrite');
                clearing.objectStore('baskets').clear();
                clearing.oncomplete = () => resolve(null);
            };
        })";
        tab.call(forget, Vec::new()).await;
        tab.reload().await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// The order is not made yet: the shop waits for its database.
#[test]
fn a_reload_while_the_shop_works_orders_once() {
    visit(async |shop, tab| {
        let mut lock = lock(shop);
        tab.press("order").await;
        until(|| {
            let metrics = Request::get(&shop.address, "/metrics").send();
            let is_there = |line| line == "idempotency_operations 1";
            metrics.text().lines().any(is_there).then_some(())
        });
        tab.reload().await;
        // By now it has been sent a second time: the first one is still in flight.
        tab.comes_to("retrying").await;
        lock.batch_execute("ROLLBACK").unwrap();
        tab.shows("#status:is([data-state='done'], [data-state='recovered'])")
            .await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Neither while it is sent, nor after a reload.
#[test]
fn the_form_as_it_is_by_then_is_not_what_is_sent() {
    let edit = "document.getElementById('tea').value = '7';
                document.getElementById('checkout').dispatchEvent(new Event('input'));";
    visit(async |shop, tab| {
        tab.offline(true).await;
        tab.fill("tea", "2").await;
        tab.press("order").await;
        tab.comes_to("offline").await;
        assert_eq!(
            tab.run("return document.getElementById('tea').readOnly")
                .await,
            true
        );
        tab.run(edit).await;
        tab.offline(false).await;
        tab.ends_as("done").await;
        assert_eq!(shop.orders()[0]["total_cents"], 900);

        tab.fill("tea", "3").await;
        tab.fill("budget", "1").await;
        tab.suffer("request-lost", 1000).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        tab.run(edit).await;
        tab.suffer("", 1).await;
        tab.reload().await;
        tab.ends_as("done").await;
        assert_eq!(shop.orders()[0]["total_cents"], 1350);
        assert_eq!((shop.orders().len(), shop.keys()), (2, 2));
    });
}

#[test]
fn offline_and_online_again_orders_once() {
    visit(async |shop, tab| {
        tab.offline(true).await;
        tab.press("order").await;
        tab.comes_to("offline").await;
        assert!(tab.said().await.starts_with("You are offline."));
        assert!(shop.orders().is_empty());
        tab.offline(false).await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn the_network_that_goes_in_mid_request_orders_once() {
    visit(async |shop, tab| {
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();
        tab.offline(true).await;
        tab.comes_to("offline").await;
        tab.offline(false).await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn a_shop_that_dies_before_it_answers_orders_once() {
    visit(async |shop, tab| {
        tab.hears_nothing().await;
        tab.fill("budget", "600").await;
        tab.press("order").await;
        shop.has_ordered();
        shop.restart();
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}
