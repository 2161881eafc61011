//! What the browser keeps for the page: what cannot be read, and what cannot be written.

use crate::tab::visit;

/// Fails with everything of the page's databases from the second attempt on.
const NO_DATABASE: &str = "
    const real = IDBFactory.prototype.open;
    IDBFactory.prototype.open = function (...all) {
        if (/\"attempts\":[1-9]/.test(sessionStorage.getItem('idempotent-fetch:order'))) throw new DOMException('gone');
        return real.apply(this, all);
    };";

#[test]
fn what_cannot_be_read_is_dropped() {
    visit(async |shop, tab| {
        for text in ["{", "null", "[]", "7", "{\"basket\":1}", "{\"key\":\"a\"}"] {
            let script = format!(
                "for (const name of ['checkout:forms', 'idempotent-fetch:order']) sessionStorage.setItem(name, '{text}')"
            );
            tab.run(&script).await;
            tab.reload().await;
            tab.ends_as("idle").await;
        }
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn a_later_attempt_that_cannot_be_kept_is_made() {
    visit(async |shop, tab| {
        tab.suffer("answer-lost", 1).await;
        tab.run(
            "const real = Storage.prototype.setItem;
             Storage.prototype.setItem = function (name, value) {
                 if (value.includes('\"attempts\":2')) throw new DOMException('full', 'QuotaExceededError');
                 return real.call(this, name, value);
             };",
        )
        .await;
        tab.press("order").await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn who_may_have_ordered_is_not_told_that_nothing_is_sent() {
    visit(async |shop, tab| {
        tab.suffer("answer-lost", 1).await;
        tab.run(NO_DATABASE).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        let said = tab.said().await;
        assert!(said.starts_with("We do not know yet"), "{said}");
        assert!(said.contains("Reload this page"), "{said}");
        tab.driver.browser_log().await.unwrap();
        tab.reload().await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// The basket has become an order, and the page ends before it has emptied the form.
#[test]
fn a_reload_between_order_and_new_basket_orders_nothing() {
    visit(async |shop, tab| {
        tab.fill("tea", "2").await;
        tab.run(
            "BroadcastChannel.prototype.postMessage = () => { throw new Error('the page ends') }",
        )
        .await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert!(tab.said().await.starts_with("Order 1 is placed"));
        assert_eq!(tab.value("tea").await, "2");
        tab.driver.browser_log().await.unwrap();
        tab.reload().await;
        tab.ends_as("elsewhere").await;
        assert_eq!(tab.text("total").await, "€0.00");
        tab.press("order").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}
