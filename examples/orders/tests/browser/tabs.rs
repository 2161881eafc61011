//! One basket in several tabs is one order.

use crate::tab::{Tab, visit};

/// Has the tab that is in front made the order that another one has begun.
async fn has_recovered(tab: &Tab) {
    tab.ends_as("recovered").await;
    assert!(tab.said().await.starts_with("Order 1 is placed"));
}

/// Pressed in both before either can tell the other.
#[test]
fn two_tabs_at_the_same_instant_order_once() {
    visit(async |shop, tab| {
        tab.run("window.other = window.open('/checkout/')").await;
        tab.to_the_other().await;
        tab.shows("#order:not([disabled])").await;
        tab.to_the_other().await;
        tab.run("for (const it of [window, other]) it.document.getElementById('order').click();")
            .await;
        for _ in 0..2 {
            tab.shows("#orders li").await;
            tab.shows("#checkout[data-busy='false']").await;
            tab.to_the_other().await;
        }
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// They know nothing of each other but what the browser keeps for both.
#[test]
fn a_second_tab_joins_the_order_of_the_first() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();

        tab.to_front(&second).await;
        // Something else is in its form. What is ordered is what the first tab has sent.
        tab.fill("coffee", "3").await;
        tab.press("order").await;
        has_recovered(tab).await;
        assert!(
            tab.text("trace")
                .await
                .contains("Another tab orders this basket")
        );

        // Whose own answer never came, and which goes on with its own copy.
        tab.to_front(&first).await;
        tab.reload().await;
        has_recovered(tab).await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// It begins with a copy of all that the first tab has kept.
#[test]
fn a_duplicated_tab_orders_once() {
    visit(async |shop, tab| {
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();
        tab.run("window.open(location.href)").await;
        tab.to_the_other().await;
        has_recovered(tab).await;
        tab.to_the_other().await;
        tab.reload().await;
        has_recovered(tab).await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn what_a_closed_tab_has_begun_is_finished_by_the_next() {
    visit(async |shop, tab| {
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.to_front(&first).await;
        tab.driver.close_window().await.unwrap();
        tab.to_front(&second).await;
        tab.load().await;
        has_recovered(tab).await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn a_tab_whose_basket_was_ordered_elsewhere_says_so() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.press("order").await;
        tab.ends_as("done").await;
        tab.to_front(&second).await;
        tab.ends_as("elsewhere").await;
        assert!(
            tab.said()
                .await
                .starts_with("This basket is already ordered: order 1.")
        );
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Also in a tab that nobody has told yet.
#[test]
fn a_basket_that_is_gone_is_not_ordered() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        // No word from other tabs reaches this one.
        let deaf = "Object.defineProperty(BroadcastChannel.prototype, 'onmessage', { set() {} });";
        tab.begins_with(deaf).await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.press("order").await;
        tab.ends_as("done").await;
        tab.to_front(&second).await;
        tab.press("order").await;
        tab.ends_as("elsewhere").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Nobody goes on with what the person has given up in another tab.
#[test]
fn what_is_given_up_in_one_tab_is_given_up_in_all() {
    visit(async |shop, tab| {
        tab.fill("budget", "1").await;
        tab.suffer("request-lost", 1000).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.ends_as("done").await;
        tab.to_front(&first).await;
        tab.ends_as("elsewhere").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));

        tab.fill("tea", "1").await;
        tab.suffer("request-lost", 1000).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        tab.to_front(&second).await;
        tab.fill("tea", "1").await;
        tab.fill("budget", "1").await;
        tab.suffer("request-lost", 1000).await;
        tab.press("order").await;
        tab.ends_as("unknown").await;
        tab.press("forget").await;
        tab.ends_as("idle").await;
        tab.to_front(&first).await;
        tab.ends_as("idle").await;
        assert_eq!(shop.orders().len(), 1);
    });
}

/// Has the tab that is in front try in vain what another one has begun, give it up and order anew.
async fn gives_up_and_orders_anew(tab: &Tab) {
    tab.fill("budget", "1").await;
    tab.suffer("request-lost", 1000).await;
    tab.press("order").await;
    tab.ends_as("unknown").await;
    tab.press("forget").await;
    tab.ends_as("idle").await;
    tab.suffer("", 1).await;
    tab.press("order").await;
    tab.ends_as("done").await;
}

/// A tab that waits for the network, and would send it then.
#[test]
fn what_was_given_up_is_not_sent_by_a_tab_that_waits() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.run(
            "window.isOnline = false; window.setTimeout = () => 0;
             Object.defineProperty(navigator, 'onLine', { get: () => isOnline });",
        )
        .await;
        tab.press("order").await;
        tab.comes_to("offline").await;
        tab.to_front(&second).await;
        gives_up_and_orders_anew(tab).await;
        tab.to_front(&first).await;
        tab.run("isOnline = true; dispatchEvent(new Event('online'));")
            .await;
        tab.ends_as("elsewhere").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Also the copy of a tab that has been closed.
#[test]
fn what_was_given_up_is_not_sent_by_a_tab_that_comes_back() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.fill("budget", "1").await;
        tab.suffer("request-lost", 1).await;
        tab.run("window.setTimeout = () => 0").await;
        tab.press("order").await;
        tab.comes_to("retrying").await;
        tab.leave().await;
        tab.to_front(&second).await;
        gives_up_and_orders_anew(tab).await;
        tab.to_front(&first).await;
        tab.load().await;
        tab.ends_as("elsewhere").await;
        assert!(tab.run(crate::KEPT).await.is_null());
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn a_form_for_a_basket_that_is_gone_is_not_one_for_the_next() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.fill("tea", "2").await;
        tab.leave().await;
        tab.to_front(&second).await;
        tab.press("order").await;
        tab.ends_as("done").await;
        tab.to_front(&first).await;
        tab.load().await;
        tab.ends_as("elsewhere").await;
        assert!(tab.said().await.contains("already ordered: order 1."));
        assert_eq!(tab.text("total").await, "€0.00");
        tab.press("order").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// The last tab to say something of a joined order is not the last to have sent it.
#[test]
fn a_refusal_of_an_order_that_another_tab_sends_is_no_last_word() {
    visit(async |shop, tab| {
        let first = tab.driver.window().await.unwrap();
        let second = tab.another().await;
        tab.load().await;
        tab.to_front(&first).await;
        tab.run(
            "const real = fetch;
             window.fetch = (url, options) => options?.method === 'POST'
                 ? new Promise((resolve) => { window.refuse = () => resolve(new Response('', { status: 404 })); })
                 : real(url, options);",
        )
        .await;
        tab.press("order").await;
        tab.comes_to("sending").await;
        tab.call(
            "async () => { while (!window.refuse) await new Promise(requestAnimationFrame); }",
            Vec::new(),
        )
        .await;
        tab.to_front(&second).await;
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();
        tab.to_front(&first).await;
        tab.run("refuse()").await;
        tab.ends_as("unclear").await;
        assert!(!tab.said().await.contains("Nothing was ordered"));
        tab.reload().await;
        has_recovered(tab).await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Or the list of them would grow for ever. One that is too old to be sent needs no place in it.
#[test]
fn a_key_that_was_given_up_is_kept_for_as_long_as_it_could_be_sent() {
    visit(async |_, tab| {
        let give_up = "async () => {
            const { look, settle, stillWanted } = await import('/checkout/basket.js');
            const { LIMITS, newKey } = await import('/checkout/idempotent-fetch.js');
            const keys = [3, 1, 0].map((ages) => newKey(Date.now() - ages * LIMITS.age));
            for (const key of keys) await settle({ key, state: null });
            return [await Promise.all(keys.map(stillWanted)), (await look()).over.length];
        }";
        assert_eq!(
            tab.call(give_up, Vec::new()).await,
            serde_json::json!([[true, false, false], 2])
        );
    });
}
