//! What is said where an answer is no word on the order: behind an attempt that may be done, from somebody else, or on the way.

use serde_json::json;

use crate::KEPT;
use crate::tab::visit;

/// Somebody in front of the shop, who answers orders with the status that this tab has written down.
const PROXY: &str = "
    const real = window.fetch;
    window.fetch = (url, options) => {
        const status = options?.method === 'POST' && sessionStorage.getItem('proxy');
        return status ? Promise.resolve(new Response('', { status: Number(status) })) : real(url, options);
    };";

/// The first attempt is an order whose answer is lost.
#[test]
fn a_refusal_behind_a_lost_answer_is_no_word_on_the_order() {
    visit(async |shop, tab| {
        tab.begins_with(PROXY).await;
        tab.hears_nothing().await;
        tab.press("order").await;
        shop.has_ordered();
        for status in [400, 401, 403, 404, 405, 409, 413, 421, 422] {
            tab.run(&format!("sessionStorage.setItem('proxy', '{status}')"))
                .await;
            tab.reload().await;
            let state = match status {
                401 | 403 => "denied",
                _ => "unclear",
            };
            tab.ends_as(state).await;
            let said = tab.said().await;
            let is_open = said.starts_with("We do not know") || said.starts_with("We cannot find");
            assert!(is_open, "{status}: {said}");
            assert!(said.to_lowercase().contains("try again"), "{said}");
            assert!(tab.run(KEPT).await.is_string(), "{status}");
        }
        tab.run("sessionStorage.removeItem('proxy')").await;
        tab.press("order").await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// Without a reload in between.
#[test]
fn a_proxy_that_answers_the_second_attempt_is_not_believed() {
    visit(async |shop, tab| {
        tab.suffer("answer-lost", 1).await;
        tab.run(
            "const real = fetch; let count = 0;
             window.fetch = (url, options) => options?.method === 'POST' && ++count === 2
                 ? Promise.resolve(new Response('', { status: 405 })) : real(url, options);",
        )
        .await;
        tab.press("order").await;
        tab.ends_as("unclear").await;
        tab.press("order").await;
        tab.ends_as("recovered").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn an_order_that_was_never_let_through_is_said_so() {
    visit(async |shop, tab| {
        tab.begins_with(PROXY).await;
        tab.run("sessionStorage.setItem('proxy', '401')").await;
        tab.reload().await;
        tab.press("order").await;
        tab.ends_as("denied").await;
        let said = tab.said().await;
        assert!(said.starts_with("The order was not let through."), "{said}");
        tab.run("sessionStorage.setItem('proxy', '422')").await;
        tab.press("order").await;
        tab.ends_as("refused").await;
        assert!(shop.orders().is_empty());
    });
}

#[test]
fn a_page_that_is_no_order_is_not_believed() {
    visit(async |shop, tab| {
        let answers = ["<h1>Log in</h1>", "null", "{}", "{\"id\":\"1\"}", ""];
        for answer in answers {
            let script = format!(
                "window.real ??= fetch;
                 window.fetch = (url, options) => options?.method === 'POST'
                     ? Promise.resolve(new Response({})) : real(url, options);",
                json!(answer)
            );
            tab.run(&script).await;
            tab.press("order").await;
            tab.ends_as("unclear").await;
            let said = tab.said().await;
            assert!(said.contains("no answer to an order"), "{said}");
            assert!(tab.run(KEPT).await.is_string());
        }
        tab.run("window.fetch = real").await;
        tab.press("order").await;
        tab.ends_as("done").await;
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

/// `/` leads to the page, which is there: 200.
#[test]
fn a_redirect_is_not_followed() {
    visit(async |_, tab| {
        let follow = "async () => {
            const { keep, pending, prepare, send } = await import('/checkout/idempotent-fetch.js');
            const operation = prepare({ method: 'GET', url: '/' });
            keep('test', operation);
            const { kind } = await send('test', operation);
            return [kind, pending('test') !== null];
        }";
        assert_eq!(tab.call(follow, Vec::new()).await, json!(["unclear", true]));
    });
}

#[test]
fn an_order_is_placed_though_the_list_fails() {
    visit(async |shop, tab| {
        let lists = [
            "new Response('{\"error\":\"away\"}', { status: 503 })",
            "new Response('{\"error\":\"away\"}')",
            "new Response('<h1>')",
        ];
        for (number, list) in lists.into_iter().enumerate() {
            let script = format!(
                "window.real ??= fetch;
                 window.fetch = (url, options) => options?.method === 'POST' ? real(url, options) : Promise.resolve({list});"
            );
            tab.run(&script).await;
            tab.fill("tea", "1").await;
            tab.press("order").await;
            tab.shows("#status[data-state='done']").await;
            tab.ends_as("done").await;
            let said = tab.said().await;
            let placed = format!("Order {} is placed", number + 1);
            assert!(said.starts_with(&placed), "{said}");
        }
        assert_eq!((shop.orders().len(), shop.keys()), (3, 3));
    });
}
