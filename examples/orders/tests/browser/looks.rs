//! That everybody can use the page: with a keyboard, a screen reader, little contrast to spare, and on a phone.

use serde_json::{Value, json};
use thirtyfour::Key;

use crate::tab::{Tab, visit};

const STATES: [&str; 12] = [
    "idle",
    "sending",
    "retrying",
    "offline",
    "done",
    "recovered",
    "refused",
    "denied",
    "unknown",
    "unclear",
    "elsewhere",
    "broken",
];

/// The contrast of each text with what is behind it, as WCAG 2.2 has it (success criterion 1.4.3), where it is too low.
const PALE: &str = r"
    const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const parts = (color) => color.match(/[\d.]+/g).map(Number);
    const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (element) => {
        for (let it = element; it; it = it.parentElement) {
            const color = parts(getComputedStyle(it).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    const all = [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility());
    const written = all.filter((element) => own(element) || element.matches('input, select'));
    const pale = written.map((element) => {
        const [one, other] = [parts(getComputedStyle(element).color), behind(element)].map(luminance);
        return [element.id || element.outerHTML.slice(0, 60), (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)];
    });
    return { count: pale.length, pale: pale.filter(([, contrast]) => contrast < 4.5) };
";

async fn prefers(tab: &Tab, scheme: &str) {
    let features = json!({ "features": [
        { "name": "prefers-color-scheme", "value": scheme },
        { "name": "prefers-reduced-motion", "value": "reduce" },
    ] });
    tab.command("Emulation.setEmulatedMedia", features).await;
}

#[test]
fn every_text_can_be_read_by_day_and_by_night() {
    visit(async |_, tab| {
        for scheme in ["light", "dark"] {
            prefers(tab, scheme).await;
            let night = tab
                .run("return getComputedStyle(document.body).backgroundColor")
                .await;
            assert_eq!(night == json!("rgb(19, 23, 21)"), scheme == "dark");
            for state in STATES {
                tab.run(&format!(
                    "document.getElementById('status').dataset.state = '{state}';
                     document.getElementById('headline').textContent = 'A headline';
                     document.getElementById('detail').textContent = 'A detail';
                     document.getElementById('forget').hidden = false;
                     document.getElementById('order').ariaDisabled = String('{state}' === 'sending');"
                ))
                .await;
                let looked = tab.run(PALE).await;
                assert!(looked["count"].as_u64().unwrap() > 30, "{looked}");
                assert_eq!(looked["pale"], json!([]), "{scheme}, {state}");
                let motion =
                    "return getComputedStyle(document.getElementById('status')).animationName";
                assert_eq!(tab.run(motion).await, "none");
            }
        }
    });
}

#[test]
fn nothing_is_cut_off_on_a_phone() {
    visit(async |_, tab| {
        for width in [320, 360, 768, 1280] {
            let size = json!({ "width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 700 });
            tab.command("Emulation.setDeviceMetricsOverride", size)
                .await;
            let wide = "const { scrollWidth, clientWidth } = document.documentElement;
                return [scrollWidth - clientWidth,
                [...document.body.querySelectorAll('*')].filter((it) => it.checkVisibility())
                    .filter((it) => it.getBoundingClientRect().right > clientWidth + 0.5).map((it) => it.outerHTML.slice(0, 80)),
                [...document.querySelectorAll('button, input, select')].filter((it) => it.checkVisibility())
                    .filter((it) => it.getBoundingClientRect().height < 44).map((it) => it.id)]";
            assert_eq!(tab.run(wide).await, json!([0, [], []]), "{width}");
        }
    });
}

/// As a screen reader has it: Chromium's own tree of what is there.
#[test]
fn everything_has_a_role_and_a_name() {
    visit(async |_, tab| {
        tab.command("Accessibility.enable", json!({})).await;
        let tree = tab.command("Accessibility.getFullAXTree", json!({})).await;
        let nodes = tree["nodes"].as_array().unwrap();
        let of = |role: &str| -> Vec<&str> {
            let nodes = nodes.iter().filter(|node| node["ignored"] == false);
            let nodes = nodes.filter(|node| node["role"]["value"] == role);
            nodes
                .map(|node| node["name"]["value"].as_str().unwrap())
                .collect()
        };
        let fields = [
            "Tea",
            "Coffee",
            "Teapot",
            "At how many attempts",
            "Seconds until the page stops trying",
        ];
        assert_eq!(of("spinbutton"), fields);
        assert_eq!(of("combobox"), ["What happens"]);
        assert_eq!(of("button"), ["Order"]);
        assert_eq!(of("group"), ["Your basket", "Make it go wrong"]);
        assert_eq!(
            of("heading"),
            ["Checkout", "Your orders", "What went over the wire"]
        );
        assert_eq!(of("main").len(), 1);
        // The total, and what becomes of the order: both are read out when they change, in whole.
        let statuses: Vec<_> = nodes
            .iter()
            .filter(|node| node["role"]["value"] == "status" && node["ignored"] == false)
            .map(|node| node["properties"].as_array().unwrap())
            .collect();
        assert_eq!(statuses.len(), 2);
        for properties in statuses {
            let has = |name: &str, value: Value| {
                let mut all = properties.iter();
                all.any(|property| property["name"] == name && property["value"]["value"] == value)
            };
            let is_read = has("live", json!("polite")) && has("atomic", json!(true));
            assert!(is_read, "{properties:?}");
        }
        let language = tab
            .run("return [document.documentElement.lang, document.title]")
            .await;
        assert_eq!(language, json!(["en", "Checkout"]));
    });
}

#[test]
fn a_keyboard_is_enough() {
    visit(async |shop, tab| {
        let focused = "return document.activeElement.id";
        for id in ["tea", "coffee", "teapot", "order"] {
            let key = tab.driver.action_chain().send_keys(Key::Tab);
            key.perform().await.unwrap();
            assert_eq!(tab.run(focused).await, id);
            let outline = tab
                .run("return getComputedStyle(document.activeElement).outlineWidth")
                .await;
            assert_eq!(outline, "3px", "{id}");
        }
        let key = tab.driver.action_chain().send_keys(" ");
        key.perform().await.unwrap();
        tab.ends_as("done").await;
        // Whoever has pressed it is still there.
        assert_eq!(tab.run(focused).await, "order");
        assert_eq!(shop.orders().len(), 1);
    });
}
