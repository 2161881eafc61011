//! The checkout page in a real browser: whatever happens on the way, an order is made once. In Chromium, where
//! `IDEM_TEST_CHROMEDRIVER` names its driver, as `cargo xtask test` does. Without one they fail, unless
//! `IDEM_TEST_NO_BROWSER` is set.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;
mod kept;
mod looks;
mod mishaps;
mod network;
mod refusals;
mod rules;
mod tab;
mod tabs;

use serde_json::json;
use thirtyfour::Key;

use tab::visit;

/// What this tab has of an operation that is not over.
const KEPT: &str = "return sessionStorage.getItem('idempotent-fetch:order')";

#[test]
fn what_is_shown_is_what_is_ordered() {
    visit(async |shop, tab| {
        tab.fill("tea", "2").await;
        tab.fill("coffee", "1").await;
        tab.fill("teapot", "1").await;
        assert_eq!(tab.text("total").await, "€57.00");
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!(tab.said().await, "Order 1 is placed: €57.00.");
        assert_eq!(tab.seen().await, ["sending", "done"]);
        tab.shows("#orders li").await;
        assert_eq!(tab.text("orders").await, "Order 1, €57.00, open");

        let orders = shop.orders();
        assert_eq!(orders.len(), 1);
        assert_eq!(orders[0]["total_cents"], 5700);
        assert!(tab.run(KEPT).await.is_null());
        // A new basket, and a new order with a key of its own.
        assert_eq!(tab.text("total").await, "€0.00");
        tab.fill("tea", "1").await;
        tab.press("order").await;
        tab.shows("#orders li:nth-child(2)").await;
        assert_eq!((shop.orders().len(), shop.keys()), (2, 2));
    });
}

/// Whether the second click comes before the answer to the first or behind it.
#[test]
fn a_double_click_orders_once() {
    visit(async |shop, tab| {
        let button = tab.element("order").await;
        let twice = tab.driver.action_chain().double_click_element(&button);
        twice.perform().await.unwrap();
        tab.ends_as("done").await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn pressing_enter_twice_orders_once() {
    visit(async |shop, tab| {
        let field = tab.element("tea").await;
        field.send_keys(Key::Enter + Key::Enter).await.unwrap();
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Before anything else can happen in between.
#[test]
fn two_submissions_at_once_order_once() {
    visit(async |shop, tab| {
        tab.run(
            "for (let i = 0; i < 5; i += 1) document.getElementById('checkout').requestSubmit();",
        )
        .await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// The form stays as it is, and what is ordered then is something new.
#[test]
fn what_was_refused_can_be_corrected() {
    visit(async |shop, tab| {
        let refusals = [
            ("teapot", "9", "There is not enough of teapot in stock."),
            ("coffee", "1001", "The quantity of coffee must be"),
            ("tea", "0.5", "Json deserialize error"),
        ];
        for (field, quantity, reason) in refusals {
            tab.fill(field, quantity).await;
            tab.press("order").await;
            tab.ends_as("refused").await;
            let said = tab.said().await;
            assert!(said.starts_with("Nothing was ordered."), "{said}");
            assert!(said.contains(reason), "{said}");
            assert_eq!(tab.value(field).await, quantity);
            assert!(tab.run(KEPT).await.is_null());
            tab.fill(field, "1").await;
        }
        assert!(shop.orders().is_empty());
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!(shop.orders()[0]["total_cents"], 450 + 900 + 3900);
        // Three are remembered: what could not be read has claimed no key.
        assert_eq!((shop.orders().len(), shop.keys()), (1, 3));
    });
}

#[test]
fn when_the_time_is_over_the_same_order_goes_on() {
    visit(async |shop, tab| {
        tab.fill("budget", "1").await;
        tab.suffer("answer-lost", 1000).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        let said = tab.said().await;
        assert!(said.starts_with("We do not know yet"), "{said}");
        assert_eq!(tab.text("order").await, "Try again");
        assert_eq!(tab.value("tea").await, "1");
        assert_eq!(shop.orders().len(), 1);
        // Not even a reload makes it another one.
        tab.reload().await;
        tab.ends_as("unknown").await;
        tab.suffer("", 1).await;
        tab.press("order").await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// The one way to a second order: the person says so.
#[test]
fn who_gives_up_may_order_anew() {
    visit(async |shop, tab| {
        tab.fill("budget", "1").await;
        tab.suffer("answer-lost", 1000).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        tab.press("forget").await;
        tab.ends_as("idle").await;
        assert!(tab.run(KEPT).await.is_null());
        tab.shows("#orders li").await;
        assert_eq!(tab.text("orders").await, "Order 1, €4.50, open");
        tab.suffer("", 1).await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (2, 2));
    });
}

/// The server has forgotten its key, and would run it again.
#[test]
fn what_is_too_old_is_not_sent() {
    visit(async |shop, tab| {
        let keep = "async () => {
            const { keep, newKey, prepare } = await import('/checkout/idempotent-fetch.js');
            const body = JSON.stringify({ items: [{ sku: 'tea', quantity: 1 }] });
            const headers = { 'Content-Type': 'application/json' };
            const operation = prepare({ method: 'POST', url: '/orders', headers, body }, { basket: 1, items: [] });
            operation.key = newKey(Date.now() - 25 * 3_600_000);
            keep('order', operation);
            return null;
        }";
        tab.call(keep, Vec::new()).await;
        tab.reload().await;
        tab.ends_as("unclear").await;
        let said = tab.said().await;
        assert!(said.contains("Look at your orders"), "{said}");
        tab.press("order").await;
        tab.ends_as("unclear").await;
        assert!(shop.orders().is_empty());
        tab.press("forget").await;
        tab.ends_as("idle").await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn what_cannot_be_kept_is_not_sent() {
    visit(async |shop, tab| {
        tab.run("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') };")
            .await;
        tab.press("order").await;
        tab.ends_as("broken").await;
        assert!(shop.orders().is_empty());
        // Which the page has logged.
        tab.driver.browser_log().await.unwrap();
    });
}

/// What somebody would do who has got a foothold in the page; each of it is stopped. What the page itself does never is, or
/// the other tests would hear complaints.
#[test]
fn the_policy_stops_what_is_not_the_page() {
    visit(async |_, tab| {
        let script = "async () => {
            const stopped = [];
            const sent = new Promise((resolve) => addEventListener('securitypolicyviolation', (event) => {
                stopped.push(event.effectiveDirective);
                if (event.effectiveDirective === 'form-action') resolve();
            }));
            const tried = (name, attempt) => { try { attempt(); } catch { stopped.push(name); } };
            tried('handler', () => document.body.setAttribute('onclick', 'alert()'));
            tried('markup', () => { document.body.innerHTML = '<b>new</b>'; });
            document.body.setAttribute('style', 'color: red');
            await fetch('http://127.0.0.1:9/').catch(() => {});
            HTMLFormElement.prototype.submit.call(document.getElementById('checkout'));
            await sent;
            return [...new Set(stopped)].sort();
        }";
        let stopped = tab.call(script, Vec::new()).await;
        let all = [
            "connect-src",
            "form-action",
            "handler",
            "markup",
            "require-trusted-types-for",
            "style-src-attr",
        ];
        assert_eq!(stopped, json!(all));
        // Which the browser has logged.
        tab.driver.browser_log().await.unwrap();
    });
}
