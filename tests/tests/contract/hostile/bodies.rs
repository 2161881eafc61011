//! Bodies that are made to cost something: deep nesting, many members, huge numbers, repeated names, escapes.

use idem_tests::{App, Request, Stage, all_at_once, in_both_styles, send};

use super::{answered, peak};
use crate::asking::{assert_replay, assert_reused, assert_runs};

in_both_styles! {
    each_is_answered_in_time_and_recognized_again,
    what_the_extractor_refuses_leaves_the_key_unused,
    a_burst_of_them_takes_bounded_memory,
}

const LEVELS: usize = 100_000;
const MEMBERS: usize = 100_000;
const DIGITS: usize = 1 << 20;

/// Beside what eight clients have under way at once, 8 bodies of about 1 MB and what is made of them.
const GROWTH_KIB: u64 = 128 * 1024;

/// A name for each, and two bodies that differ at the far end.
fn hostile() -> Vec<(&'static str, [String; 2])> {
    let pair = |body: fn(&str) -> String| [body("1"), body("2")];
    vec![
        (
            "arrays in arrays",
            pair(|end| format!("{}{end}{}", "[".repeat(LEVELS), "]".repeat(LEVELS))),
        ),
        (
            "objects in objects",
            pair(|end| format!("{}{end}{}", "{\"a\":".repeat(LEVELS), "}".repeat(LEVELS))),
        ),
        ("open brackets", pair(|end| "[".repeat(LEVELS) + end)),
        (
            "many members, the last first",
            pair(|end| {
                let members = (0..MEMBERS).rev().map(|n| format!("\"{n:06}\":{n}"));
                format!("{{{},\"\":{end}}}", members.collect::<Vec<_>>().join(","))
            }),
        ),
        (
            "one name again and again",
            pair(|end| format!("{{{}\"a\":{end}}}", "\"a\":0,".repeat(MEMBERS))),
        ),
        (
            "repeated names in depth",
            pair(|end| {
                let level = "{\"a\":0,\"a\":";
                format!("{}{end}{}", level.repeat(120), "}".repeat(120))
            }),
        ),
        ("a huge number", pair(|end| "9".repeat(DIGITS) + end)),
        (
            "a huge exponent",
            pair(|end| format!("[1e{}{end}]", "9".repeat(DIGITS))),
        ),
        (
            "a huge fraction",
            pair(|end| format!("{{\"n\":0.{}{end}}}", "0".repeat(DIGITS))),
        ),
        (
            "escapes",
            pair(|end| format!("{{\"{}{end}\":0}}", "\\u00e9".repeat(DIGITS / 6))),
        ),
        (
            "white space",
            pair(|end| format!("[{}{end}]", " \t\r\n".repeat(DIGITS / 4))),
        ),
    ]
}

/// `/wire` takes any bytes, so that nothing but us looks into them.
fn wire(key: &str, body: &str) -> Request {
    Request::post("/wire")
        .bearer("acme:one")
        .key(key)
        .typed("application/json", body)
}

async fn each_is_answered_in_time_and_recognized_again(stage: &Stage) {
    let app = stage.start().await;
    for (index, (what, [body, other])) in hostile().iter().enumerate() {
        let key = format!("k{index}");
        let first = answered(&app, what, &wire(&key, body)).await;
        assert_eq!(first.status, 200, "{what}: {}", first.text());
        assert_replay(&first, &answered(&app, what, &wire(&key, body)).await);
        // One byte at the far end is another request.
        assert_reused(&answered(&app, what, &wire(&key, other)).await);
    }
    assert_eq!(app.entered("wire").await, hostile().len() as u64);
}

async fn what_the_extractor_refuses_leaves_the_key_unused(stage: &Stage) {
    let app = stage.start().await;
    for (index, (what, [body, _])) in hostile().iter().enumerate() {
        let key = format!("k{index}");
        let request = Request::post("/account/script")
            .bearer("acme:one")
            .key(&key)
            .typed("application/json", body.as_str());
        let refused = answered(&app, what, &request).await;
        assert!((400..500).contains(&refused.status), "{what}: {refused:?}");
        assert_runs(&app, &key, "corrected").await;
    }
}

async fn a_burst_of_them_takes_bounded_memory(stage: &Stage) {
    let app = stage.start().await;
    burst(&app, "warm", 1).await;
    let before = peak(&app);
    burst(&app, "burst", 25).await;
    let after = peak(&app);
    println!("peak before: {before} KiB, after 200 more: {after} KiB");
    assert!(
        after - before < GROWTH_KIB,
        "{before} KiB, then {after} KiB"
    );
}

/// Eight clients at once, each of which sends this many, one after the other.
async fn burst(app: &App, name: &'static str, each: usize) {
    let address = app.address();
    all_at_once(8, |client| async move {
        let bodies = hostile();
        for turn in 0..each {
            let (what, [body, _]) = &bodies[(client + turn) % bodies.len()];
            let key = format!("{name}-{client}-{turn}");
            let answer = send(address, &wire(&key, body)).await.expect("an answer");
            // On SQLite, eight writers may wait for longer than the busy timeout; and on a busy machine a request may
            // not have come in time.
            assert!(
                matches!(answer.status, 200 | 408 | 503),
                "{what}: {answer:?}"
            );
        }
    })
    .await;
}
