//! What the browser says of the network is a hint, and the person has the last word.

use serde_json::json;

use crate::KEPT;
use crate::tab::visit;

/// A browser that says it is offline, and whose clocks stand still.
const SAYS_OFFLINE: &str = "window.isOnline = false; window.setTimeout = () => 0;
    Object.defineProperty(navigator, 'onLine', { get: () => isOnline });";

#[test]
fn a_browser_that_says_it_is_offline_is_not_believed_for_ever() {
    visit(async |shop, tab| {
        tab.run(
            "const real = setTimeout; window.setTimeout = (then, length) => real(then, Math.min(length, 50));
             Object.defineProperty(navigator, 'onLine', { get: () => false });",
        )
        .await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!(tab.seen().await, ["offline", "sending", "done"]);
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn who_waits_for_the_network_may_stop() {
    visit(async |shop, tab| {
        tab.run(SAYS_OFFLINE).await;
        tab.press("order").await;
        tab.comes_to("offline").await;
        tab.press("stop").await;
        tab.ends_as("unknown").await;
        let said = tab.said().await;
        assert!(said.starts_with("The order has not been sent."), "{said}");
        assert!(tab.run(KEPT).await.is_string());
        let focused = tab.run("return document.activeElement.id").await;
        assert_eq!(focused, "order");
        assert!(!tab.element("stop").await.is_displayed().await.unwrap());
        assert!(shop.orders().is_empty());
        tab.run("isOnline = true").await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn who_waits_for_the_next_attempt_may_stop() {
    visit(async |shop, tab| {
        tab.run("window.setTimeout = () => 0").await;
        tab.suffer("answer-lost", 1).await;
        tab.press("order").await;
        tab.comes_to("retrying").await;
        tab.press("stop").await;
        tab.ends_as("unknown").await;
        let said = tab.said().await;
        assert!(said.starts_with("We do not know yet"), "{said}");
        tab.press("order").await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// What it lacks is not told as a network that fails.
#[test]
fn an_older_browser_orders_or_says_that_it_cannot() {
    visit(async |shop, tab| {
        tab.run("delete AbortSignal.any").await;
        tab.press("order").await;
        tab.ends_as("done").await;
        tab.fill("tea", "1").await;
        tab.run("delete AbortSignal.timeout").await;
        tab.press("order").await;
        tab.ends_as("broken").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
        // Which the page has logged.
        tab.driver.browser_log().await.unwrap();
    });
}

#[test]
fn headers_that_never_come_are_not_waited_for() {
    visit(async |_, tab| {
        let ask = "async () => {
            const { keep, prepare, send } = await import('/checkout/idempotent-fetch.js');
            const operation = prepare({ method: 'POST', url: '/orders', body: '{}' });
            keep('test', operation);
            const headers = () => new Promise(() => {});
            const { kind } = await send('test', operation, { limits: { attempt: 50, budget: 200 }, headers });
            return [kind, operation.mayBeDone];
        }";
        // Nothing was sent, so nothing may be done.
        assert_eq!(tab.call(ask, Vec::new()).await, json!(["unknown", false]));
    });
}

#[test]
fn a_field_in_which_enter_is_pressed_keeps_the_focus() {
    visit(async |shop, tab| {
        tab.hears_nothing().await;
        let field = tab.element("tea").await;
        field.send_keys(thirtyfour::Key::Enter + "").await.unwrap();
        shop.has_ordered();
        let there =
            "const { activeElement: it } = document; return [it.id, it.readOnly, it.ariaDisabled]";
        assert_eq!(tab.run(there).await, json!(["tea", true, "true"]));
    });
}
