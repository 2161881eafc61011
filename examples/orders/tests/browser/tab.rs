//! A shop of its own for each test, and a headless Chromium in front of it. Looks, presses and waits; what should be seen is
//! for the tests to say.

use std::env;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::prelude::*;
use xtask::ChromeDriver;

use crate::common::{Orders, Request, until};

const PATIENCE: Duration = Duration::from_secs(60);

/// The one of this process; `None` where somebody has said that there is no Chromium. It ends with the process, and its
/// browsers with it.
static DRIVER: LazyLock<Option<ChromeDriver>> = LazyLock::new(|| {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(program) = set("IDEM_TEST_CHROMEDRIVER") {
        return Some(ChromeDriver::start(Path::new(&program)).unwrap());
    }
    assert!(
        set("IDEM_TEST_NO_BROWSER").is_some(),
        "IDEM_TEST_CHROMEDRIVER names no program: run `cargo xtask test -p orders`, or set IDEM_TEST_NO_BROWSER=1 to test nothing"
    );
    None
});

/// Runs a test with a shop, and with a tab of a fresh browser that shows its checkout page.
pub(crate) fn visit(test: impl AsyncFnOnce(&mut Shop, &Tab)) {
    let Some(chromedriver) = &*DRIVER else {
        eprintln!("IDEM_TEST_NO_BROWSER is set: nothing was tested");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut shop = Shop::open();
        let mut wanted = DesiredCapabilities::chrome();
        for argument in ChromeDriver::ARGUMENTS {
            wanted.add_arg(argument).unwrap();
        }
        wanted
            .set("goog:loggingPrefs", json!({ "browser": "ALL" }))
            .unwrap();
        let driver = WebDriver::new(chromedriver.url(), wanted).await.unwrap();
        let tab = Tab {
            driver,
            page: format!("http://{}/checkout/", shop.address),
        };
        tab.load().await;
        test(&mut shop, &tab).await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
        tab.driver.quit().await.unwrap();
    });
}

/// The program, and what is in its database.
pub(crate) struct Shop {
    pub(crate) orders: Orders,
    pub(crate) address: String,
}

impl Shop {
    fn open() -> Self {
        let mut orders = Orders::on_sqlite();
        let [command] = orders.commands();
        Self {
            orders,
            address: command.address,
        }
    }

    /// What its API lists.
    pub(crate) fn orders(&self) -> Vec<Value> {
        let listed = Request::get(&self.address, "/orders").send().json();
        listed.as_array().unwrap().clone()
    }

    /// Returns once it has made an order, whether or not anybody has been told.
    pub(crate) fn has_ordered(&self) {
        until(|| (self.orders().len() == 1).then_some(()));
    }

    /// How many operations it remembers.
    pub(crate) fn keys(&self) -> i64 {
        self.orders
            .number("SELECT count(*) FROM idempotency_keys WHERE endpoint = 'POST /orders'")
    }

    /// Kills it, and opens it again at the same address.
    pub(crate) fn restart(&mut self) {
        let (_, port) = self.address.rsplit_once(':').unwrap();
        self.orders.restart_with(&[("PORT", port)]);
        let [_] = self.orders.commands();
    }
}

/// The browser, of which one tab is in front.
pub(crate) struct Tab {
    pub(crate) driver: WebDriver,
    page: String,
}

impl Tab {
    /// Shows the page, and returns when it can be used.
    pub(crate) async fn load(&self) {
        self.driver.goto(&self.page).await.unwrap();
        self.is_ready().await;
    }

    pub(crate) async fn reload(&self) {
        self.driver.refresh().await.unwrap();
        self.is_ready().await;
    }

    async fn is_ready(&self) {
        self.shows("#order:not([disabled])").await;
        self.run(
            "window.seen = []; new MutationObserver(() => seen.push(document.getElementById('status').dataset.state))
                 .observe(document.getElementById('status'), { attributes: true, attributeFilter: ['data-state'] });",
        )
        .await;
    }

    /// The states that the page has told of since it was loaded.
    pub(crate) async fn seen(&self) -> Vec<String> {
        let seen = self.run("return window.seen").await;
        serde_json::from_value(seen).unwrap()
    }

    /// Returns when the page has something that this selects.
    pub(crate) async fn shows(&self, selector: &str) {
        let query = self.driver.query(By::Css(selector));
        let query = query.wait(PATIENCE, Duration::from_millis(20));
        if !query.exists().await.unwrap() {
            panic!("no {selector}; the page says {:?}", self.said().await);
        }
    }

    /// Returns when it tells of this state.
    pub(crate) async fn comes_to(&self, state: &str) {
        self.shows(&format!("#status[data-state='{state}']")).await;
    }

    /// The same, and the person can act again.
    pub(crate) async fn ends_as(&self, state: &str) {
        self.comes_to(state).await;
        self.shows("#checkout[data-busy='false']").await;
    }

    pub(crate) async fn said(&self) -> String {
        self.text("status").await
    }

    pub(crate) async fn text(&self, id: &str) -> String {
        self.element(id).await.text().await.unwrap()
    }

    pub(crate) async fn value(&self, id: &str) -> String {
        self.element(id).await.value().await.unwrap().unwrap()
    }

    pub(crate) async fn element(&self, id: &str) -> WebElement {
        self.driver.find(By::Id(id)).await.unwrap()
    }

    pub(crate) async fn press(&self, id: &str) {
        self.element(id).await.click().await.unwrap();
    }

    /// Types this into the field, in place of what it holds.
    pub(crate) async fn fill(&self, id: &str, value: &str) {
        let field = self.element(id).await;
        field.clear().await.unwrap();
        field.send_keys(value).await.unwrap();
    }

    /// Has the order made and nothing said, once. The page waits for as long as it stays: no clock takes part in it.
    pub(crate) async fn hears_nothing(&self) {
        self.run("AbortSignal.timeout = () => new AbortController().signal")
            .await;
        self.suffer("silent", 1).await;
    }

    /// Has this go wrong, at so many attempts.
    pub(crate) async fn suffer(&self, fault: &str, times: u32) {
        let option = format!("#fault option[value='{fault}']");
        let option = self.driver.find(By::Css(option)).await.unwrap();
        option.click().await.unwrap();
        self.fill("times", &times.to_string()).await;
    }

    /// Has every page run this first.
    pub(crate) async fn begins_with(&self, script: &str) {
        let script = json!({ "source": script });
        self.command("Page.addScriptToEvaluateOnNewDocument", script)
            .await;
    }

    /// Shows nothing, and keeps what the page has kept for this tab: as a tab that is closed and opened again.
    pub(crate) async fn leave(&self) {
        self.driver.goto("about:blank").await.unwrap();
    }

    /// What a script of ours returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        let returned = self.driver.execute(script, Vec::new()).await.unwrap();
        returned.json().clone()
    }

    /// The same of an asynchronous function, with these arguments.
    pub(crate) async fn call(&self, function: &str, arguments: Vec<Value>) -> Value {
        let script = format!(
            "const [...all] = arguments; const done = all.pop();
             ({function})(...all).then(done, (error) => done({{ failed: String(error) }}));"
        );
        let returned = self.driver.execute_async(script, arguments).await.unwrap();
        let value = returned.json().clone();
        assert!(value.get("failed").is_none(), "{value}");
        value
    }

    pub(crate) async fn offline(&self, is_offline: bool) {
        let conditions = json!({
            "offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        let method = "Network.emulateNetworkConditions";
        self.command(method, conditions).await;
    }

    /// One of Chromium's own commands.
    pub(crate) async fn command(&self, method: &str, parameters: Value) -> Value {
        let cdp = self.driver.cdp();
        cdp.send_raw(method, parameters).await.unwrap()
    }

    /// Brings another tab to the front, empty.
    pub(crate) async fn another(&self) -> WindowHandle {
        let new = self.driver.new_tab().await.unwrap();
        self.to_front(&new).await;
        new
    }

    pub(crate) async fn to_front(&self, window: &WindowHandle) {
        self.driver.switch_to_window(window.clone()).await.unwrap();
    }

    /// The other one of two.
    pub(crate) async fn to_the_other(&self) {
        let own = self.driver.window().await.unwrap();
        let all = self.driver.windows().await.unwrap();
        let other = all.into_iter().find(|window| *window != own).unwrap();
        self.to_front(&other).await;
    }

    /// What the browser has to say against the page: violations of its policy, errors in its scripts. That a request fails is
    /// none.
    async fn complaints(&self) -> Vec<String> {
        let log = self.driver.browser_log().await.unwrap();
        let entries = log.into_iter().map(|entry| entry.message);
        entries
            .filter(|message| !message.contains("Failed to load resource"))
            .collect()
    }
}
