//! The rules of `idempotent-fetch.js` by themselves, in the browser, without a server: what is sent again and with what, how
//! long it waits, what is kept. Answers come from a script, and no time passes.

use serde_json::{Value, json};

use crate::tab::{Tab, visit};

/// Sends an operation to whom answers with these, one after the other, and says what became of it. An answer is a status,
/// headers and a body, of which `cut` breaks off; `null` is none.
const PLAY: &str = "async (answers, limits, mayBeDone = false) => {
    const { keep, pending, prepare, send } = await import('/checkout/idempotent-fetch.js');
    const sent = [];
    window.fetch = async (url, { method, headers, body }) => {
        const { attempts, mayBeDone } = pending('test');
        sent.push({ url, method, headers, body, kept: attempts, mayBeDone });
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer === null) throw new TypeError('nothing came');
        let text = answer[2] ?? '';
        if (text === 'cut') text = new ReadableStream({ start: (stream) => stream.error(new TypeError('cut')) });
        return new Response([204, 304].includes(answer[0]) ? null : text, { status: answer[0], headers: answer[1] });
    };
    let now = 0;
    performance.now = () => now;
    window.setTimeout = (then, length) => { now += length; queueMicrotask(then); };
    const request = { method: 'POST', url: '/a', headers: { 'Content-Type': 'text/plain' }, body: 'b' };
    const operation = { ...prepare(request), mayBeDone };
    keep('test', operation);
    const told = [];
    const options = {
        limits, tell: (event) => told.push(event),
        headers: async () => ({ Authorization: `token ${sent.length}` }),
    };
    const [outcome, same] = await Promise.all([send('test', operation, options), send('test', operation, options)]);
    return {
        kind: outcome.kind, replayed: outcome.replayed ?? null, isSame: outcome === same, key: operation.key, sent,
        pauses: told.filter(({ phase }) => phase === 'waiting').map(({ pause }) => pause),
        isKept: pending('test') !== null,
    };
}";

async fn play(tab: &Tab, answers: Value, limits: Value) -> Value {
    play_behind(tab, answers, limits, false).await
}

/// The same where an attempt before these may have been done.
async fn play_behind(tab: &Tab, answers: Value, limits: Value, may_be_done: bool) -> Value {
    let arguments = vec![answers, limits, json!(may_be_done)];
    let outcome = tab.call(PLAY, arguments).await;
    // It has stand-ins for the browser's own functions.
    tab.reload().await;
    outcome
}

fn problem(status: u16, code: &str, is_retryable: bool) -> Value {
    let body = json!({ "code": code, "retryable": is_retryable, "status": status });
    json!([status, { "Content-Type": "application/problem+json" }, body.to_string()])
}

/// The table of answers of the README: what each means by itself.
#[test]
fn each_answer_means_what_the_table_says() {
    visit(async |_, tab| {
        let plain = |status: u16| json!([status, {}]);
        let table = [
            (plain(200), "done"),
            (plain(201), "done"),
            (plain(204), "done"),
            (json!([202, {}]), "done"),
            (json!([202, { "Retry-After": "1" }]), "done"),
            (
                json!([202, { "Retry-After": "1", "Location": "/jobs/1" }]),
                "done",
            ),
            (plain(304), "unclear"),
            (plain(301), "unclear"),
            (plain(400), "refused"),
            (plain(404), "refused"),
            (plain(409), "refused"),
            (plain(410), "refused"),
            (plain(413), "refused"),
            (plain(422), "refused"),
            (plain(401), "denied"),
            (plain(403), "denied"),
            (problem(400, "idempotency-key-missing", false), "refused"),
            (problem(400, "idempotency-key-invalid", false), "refused"),
            (
                problem(401, "idempotency-scope-unresolved", false),
                "denied",
            ),
            (problem(410, "idempotency-key-expired", false), "unclear"),
            (problem(413, "request-too-large", false), "refused"),
            (problem(422, "idempotency-key-reused", false), "unclear"),
            (problem(500, "idempotency-misconfigured", false), "unclear"),
            (problem(500, "response-not-storable", false), "unclear"),
        ];
        for (answer, kind) in table {
            let outcome = play(tab, json!([answer]), json!({})).await;
            assert_eq!(outcome["kind"], kind, "{answer}: {outcome}");
            assert_eq!(outcome["sent"].as_array().unwrap().len(), 1, "{answer}");
            let is_over = kind == "done" || kind == "refused";
            assert_eq!(outcome["isKept"], !is_over, "{answer}");
            // Behind another attempt this one points at that.
            let is_job = answer[1].get("Location").is_some();
            let behind = match kind {
                _ if is_job => continue,
                "refused" => "unclear",
                same => same,
            };
            let outcome = play_behind(tab, json!([answer]), json!({}), true).await;
            assert_eq!(outcome["kind"], behind, "{answer}: {outcome}");
            assert_eq!(outcome["isKept"], behind != "done", "{answer}");
        }
    });
}

/// Which status, and what came before it.
#[test]
fn a_recorded_answer_is_the_last_word() {
    visit(async |_, tab| {
        for (status, kind) in [
            (200, "done"),
            (202, "done"),
            (304, "done"),
            (401, "refused"),
            (404, "refused"),
            (409, "refused"),
            (425, "refused"),
            (429, "refused"),
            (500, "unclear"),
            (503, "unclear"),
        ] {
            let headers = json!({
                "Idempotent-Replayed": "true", "Retry-After": "1", "Location": "/jobs/1",
                "Content-Type": "application/problem+json",
            });
            let body = match status {
                304 => "",
                _ => "{\"retryable\":true,\"code\":\"idempotency-key-reused\"}",
            };
            let answers = json!([null, [status, headers, body]]);
            let outcome = play(tab, answers, json!({})).await;
            assert_eq!(outcome["kind"], kind, "{status}: {outcome}");
            assert_eq!(outcome["isKept"], kind == "unclear", "{status}");
        }
    });
}

/// A refusal speaks for what came before it only if nothing of that can have been done.
#[test]
fn what_an_earlier_attempt_may_have_done_is_remembered() {
    visit(async |_, tab| {
        let pointer = json!([202, { "Retry-After": "0", "Location": "/jobs/1" }]);
        for (first, kind) in [
            (json!(null), "unclear"),
            (json!([201, {}, "cut"]), "unclear"),
            (json!([408, {}]), "unclear"),
            (json!([500, {}]), "unclear"),
            (json!([503, {}]), "unclear"),
            (problem(409, "idempotency-in-flight", true), "unclear"),
            (json!([425, {}]), "refused"),
            (json!([429, {}]), "refused"),
        ] {
            let outcome = play(tab, json!([first, [404, {}]]), json!({})).await;
            assert_eq!(outcome["kind"], kind, "{first}: {outcome}");
            // Written down before it is sent, whatever becomes of it.
            assert_eq!(outcome["sent"][0]["mayBeDone"], true);
            // Once it may be done, nothing takes that back.
            let answers = json!([first, [429, {}], pointer, [404, {}]]);
            let outcome = play_behind(tab, answers, json!({}), true).await;
            assert_eq!(outcome["kind"], "unclear", "{first}: {outcome}");
            assert_eq!(outcome["sent"].as_array().unwrap().len(), 4, "{outcome}");
        }
    });
}

#[test]
fn what_says_nothing_is_sent_again_with_the_same_key() {
    visit(async |_, tab| {
        let again = json!([
            null,
            [201, {}, "cut"],
            [408, {}],
            [425, {}],
            [429, {}],
            [500, {}],
            [502, {}],
            [503, {}],
            [504, {}],
            [202, { "Retry-After": "0", "Location": "/jobs/1" }],
            [500, { "Content-Type": "application/problem+json" }, "not JSON"],
            problem(409, "idempotency-in-flight", true),
            problem(409, "idempotency-unresolved", true),
            problem(503, "idempotency-store-unavailable", true),
            problem(500, "handler-failed", true),
            [201, { "Idempotent-Replayed": "true" }],
        ]);
        let count = again.as_array().unwrap().len();
        let outcome = play(tab, again, json!({ "budget": 600_000 })).await;
        assert_eq!(outcome["kind"], "done", "{outcome}");
        assert_eq!(
            (&outcome["replayed"], &outcome["isSame"]),
            (&json!(true), &json!(true))
        );
        let sent = outcome["sent"].as_array().unwrap();
        assert_eq!(sent.len(), count, "{outcome}");
        let key = format!("\"{}\"", outcome["key"].as_str().unwrap());
        for (number, attempt) in sent.iter().enumerate() {
            assert_eq!(
                (&attempt["method"], &attempt["url"], &attempt["body"]),
                (&json!("POST"), &json!("/a"), &json!("b"))
            );
            let headers = &attempt["headers"];
            assert_eq!(headers["Idempotency-Key"], key);
            assert_eq!(headers["Content-Type"], "text/plain");
            // Asked anew each time.
            assert_eq!(headers["Authorization"], format!("token {number}"));
            // And kept before it was sent.
            assert_eq!(attempt["kept"], number + 1);
        }
    });
}

#[test]
fn pauses_grow_vary_and_end() {
    visit(async |_, tab| {
        let mut all = Vec::new();
        for _ in 0..5 {
            let outcome = play(tab, json!([null]), json!({})).await;
            assert_eq!(
                (&outcome["kind"], &outcome["isKept"]),
                (&json!("unknown"), &json!(true))
            );
            let pauses: Vec<f64> = serde_json::from_value(outcome["pauses"].clone()).unwrap();
            assert!(pauses.iter().sum::<f64>() < 60_000.0, "{pauses:?}");
            assert!(pauses.len() >= 6, "{pauses:?}");
            all.push(pauses);
        }
        for (retry, bound) in [500.0, 1000.0, 2000.0, 4000.0, 8000.0, 10_000.0]
            .into_iter()
            .enumerate()
        {
            let pauses: Vec<f64> = all.iter().map(|pauses| pauses[retry]).collect();
            assert!(
                pauses.iter().all(|pause| (0.0..bound).contains(pause)),
                "{pauses:?}"
            );
            assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
        }
        // Beyond what five retries may take together, so that they do grow.
        let longest = all
            .iter()
            .flatten()
            .fold(0.0, |one: f64, other| one.max(*other));
        assert!(longest > 4000.0, "{longest}");
    });
}

#[test]
fn retry_after_is_the_least_pause() {
    visit(async |_, tab| {
        let answers =
            json!([[429, { "Retry-After": "7" }], [503, { "Retry-After": "soon" }], [201, {}]]);
        let outcome = play(tab, answers, json!({})).await;
        let pauses: Vec<f64> = serde_json::from_value(outcome["pauses"].clone()).unwrap();
        assert!((7000.0..7500.0).contains(&pauses[0]), "{pauses:?}");
        assert!(pauses[1] < 1000.0, "{pauses:?}");
        // Longer than anybody waits: the person is told at once.
        let outcome = play(tab, json!([[503, { "Retry-After": "3600" }]]), json!({})).await;
        assert_eq!(
            (&outcome["kind"], &outcome["pauses"]),
            (&json!("unknown"), &json!([]))
        );

        let read = "async (value) => {
            const { milliseconds } = await import('/checkout/idempotent-fetch.js');
            return milliseconds(value, Date.UTC(2026, 10, 30, 12, 0, 0));
        }";
        for (value, length) in [
            (json!(null), json!(null)),
            (json!("0"), json!(0)),
            (json!("120"), json!(120_000)),
            (json!("Mon, 30 Nov 2026 12:00:30 GMT"), json!(30_000)),
            (json!("Mon, 30 Nov 2026 11:00:00 GMT"), json!(0)),
            (json!("soon"), json!(null)),
        ] {
            assert_eq!(tab.call(read, vec![value.clone()]).await, length, "{value}");
        }
    });
}

#[test]
fn an_attempt_without_an_answer_is_given_up() {
    visit(async |shop, tab| {
        let ask = "async () => {
            const { keep, prepare, send } = await import('/checkout/idempotent-fetch.js');
            const body = JSON.stringify({ items: [{ sku: 'tea', quantity: 1 }] });
            const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer alice:demo' };
            const operation = prepare({ method: 'POST', url: '/orders', headers, body });
            keep('test', operation);
            const faults = [{ 'X-Demo-Fault': 'silent' }, {}];
            const { kind } = await send('test', operation, { limits: { attempt: 2000 }, headers: () => faults.shift() ?? {} });
            return { kind, attempts: operation.attempts };
        }";
        let outcome = tab.call(ask, Vec::new()).await;
        assert_eq!(outcome["kind"], "done");
        assert!(outcome["attempts"].as_u64().unwrap() > 1, "{outcome}");
        assert_eq!((shop.orders().len(), shop.keys()), (1, 1));
    });
}

#[test]
fn a_key_is_a_uuid_that_says_when_it_was_made() {
    visit(async |_, tab| {
        let make = "async () => {
            const { newKey } = await import('/checkout/idempotent-fetch.js');
            return [newKey(0x0123456789ab), newKey(0), ...Array.from({ length: 200 }, () => newKey())];
        }";
        let keys: Vec<String> = serde_json::from_value(tab.call(make, Vec::new()).await).unwrap();
        assert!(keys[0].starts_with("01234567-89ab-7"), "{}", keys[0]);
        assert!(keys[1].starts_with("00000000-0000-7"), "{}", keys[1]);
        for key in &keys {
            let lengths: Vec<_> = key.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{key}");
            assert_eq!(&key[14..15], "7", "{key}");
            assert!("89ab".contains(&key[19..20]), "{key}");
        }
        let mut distinct: Vec<_> = keys.iter().map(|key| &key[14..]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len());
    });
}
