//! What makes two requests the same operation, and what does not.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use idem_tests::{App, Request, Stage, in_both_styles};

use crate::asking::{assert_replay, assert_reused};

/// Pairs that differ only in the order of members and in white space.
const SAME: &[(&str, &str)] = &[
    (r#"{"a":1,"b":2}"#, "{ \"b\" : 2,\n\t\"a\" : 1 }"),
    (r#"{"A":1,"a":2}"#, r#"{"a":2,"A":1}"#),
    (
        r#"{"o":{"x":[1,{"p":1,"q":2}],"y":null},"n":0}"#,
        r#"{"n":0, "o":{"y":null, "x":[1, {"q":2,"p":1}]}}"#,
    ),
    (r#"{"n":0.1e5,"s":"a  b"}"#, r#" {"s":"a  b" , "n":0.1e5} "#),
    ("[1,2]", "[ 1 , 2 ]"),
    (r#""k""#, " \"k\"\r\n"),
    // Equal to itself, whatever it means.
    (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
];

const OTHER: &[(&str, &str)] = &[
    ("[1,2]", "[2,1]"),
    ("9007199254740992", "9007199254740993"),
    (r#"{"n":9007199254740992}"#, r#"{"n":9007199254740993}"#),
    ("0.1", "0.1000000000000000055511151231257827"),
    ("1", "1.0"),
    ("1", "1e0"),
    ("0", "-0"),
    ("1", r#""1""#),
    ("null", r#""null""#),
    ("[]", "{}"),
    ("[]", "[null]"),
    (r#"{"a":null}"#, "{}"),
    (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
    (r#"{"a":2}"#, r#"{"a":1,"a":2}"#),
    (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
    (r#"{"o":{"a":1,"a":2}}"#, r#"{"o":{"a":2}}"#),
    (r#"{"a":{"b":1},"c":2}"#, r#"{"a":{"b":1,"c":2}}"#),
    (r#"{"a":"b,c"}"#, r#"{"a":"b","c":""}"#),
    (r#"["a","b"]"#, r#"["a,b"]"#),
    (r#"{"a":"x"}"#, r#"{"a":"x "}"#),
    (r#"{"a":"b"}"#, r#"{"A":"b"}"#),
];

in_both_styles! {
    same_json,
    other_json,
    raw_bytes_where_the_endpoint_says_so,
    broken_json_is_taken_as_bytes,
    query_strings,
    media_types,
    forms_and_texts,
    chunked_bodies,
    compressed_bodies,
}

async fn same_json(stage: &Stage) {
    let app = stage.start().await;
    for (left, right) in SAME {
        let (left, right) = (json(left), json(right));
        same(&app, &left, &right).await;
    }
}

async fn other_json(stage: &Stage) {
    let app = stage.start().await;
    for (left, right) in OTHER {
        let (left, right) = (json(left), json(right));
        other(&app, &left, &right).await;
    }
}

async fn raw_bytes_where_the_endpoint_says_so(stage: &Stage) {
    let app = stage.start().await;
    let script = |body: &str| Request::post("/raw/script").typed("application/json", body);
    let plain = script(r#"{"label":"raw","effects":0}"#);
    same(&app, &plain, &plain).await;
    other(&app, &plain, &script(r#"{"label":"raw", "effects":0}"#)).await;
    other(&app, &plain, &script(r#"{"effects":0,"label":"raw"}"#)).await;
}

async fn broken_json_is_taken_as_bytes(stage: &Stage) {
    let app = stage.start().await;
    let broken = |body: &str| Request::post("/bytes").typed("application/json", body);
    same(&app, &broken("{\"a\":"), &broken("{\"a\":")).await;
    other(&app, &broken("{\"a\":"), &broken("{ \"a\":")).await;
    other(&app, &broken(""), &broken(" ")).await;
    let octets = |body: &[u8]| Request::post("/bytes").typed("application/json", body);
    same(&app, &octets(b"\"\xff\""), &octets(b"\"\xff\"")).await;
    other(&app, &octets(b"\"\xff\""), &octets(b"\"\xfe\"")).await;
}

async fn query_strings(stage: &Stage) {
    let app = stage.start().await;
    let with = |query: &str| Request::post(&format!("/bytes{query}")).typed("text/plain", "body");
    same(&app, &with("?a=1&b=2"), &with("?a=1&b=2")).await;
    other(&app, &with(""), &with("?a=1")).await;
    other(&app, &with("?a=1"), &with("?a=2")).await;
    other(&app, &with("?a=1&b=2"), &with("?b=2&a=1")).await;
    other(&app, &with("?a=1"), &with("?a=%31")).await;
}

async fn media_types(stage: &Stage) {
    let app = stage.start().await;
    let body = r#"{"a":1,"b":2}"#;
    let typed = |media_type: &str, body: &str| Request::post("/bytes").typed(media_type, body);
    other(
        &app,
        &typed("application/json", body),
        &typed("text/plain", body),
    )
    .await;
    other(
        &app,
        &typed("text/plain", body),
        &Request::post("/bytes").body(body),
    )
    .await;
    other(
        &app,
        &typed("text/plain; charset=utf-8", body),
        &typed("text/plain; charset=iso-8859-1", body),
    )
    .await;
    same(
        &app,
        &typed("application/json", body),
        &typed("application/json; charset=utf-8", body),
    )
    .await;
    same(
        &app,
        &typed("Application/JSON", body),
        &typed("application/json", body),
    )
    .await;
    let reordered = r#"{"b":2, "a":1}"#;
    same(
        &app,
        &typed("application/vnd.acme+json", body),
        &typed("application/vnd.acme+json", reordered),
    )
    .await;
    other(
        &app,
        &typed("application/vnd.acme+json", body),
        &typed("application/json", body),
    )
    .await;
    other(
        &app,
        &typed("text/plain", body),
        &typed("text/plain", reordered),
    )
    .await;
}

async fn forms_and_texts(stage: &Stage) {
    let app = stage.start().await;
    let form = |body: &str| Request::post("/form").typed("application/x-www-form-urlencoded", body);
    same(&app, &form("a=1&b=2"), &form("a=1&b=2")).await;
    other(&app, &form("a=1&b=2"), &form("a=1&b=3")).await;
    other(&app, &form("a=1&b=2"), &form("b=2&a=1")).await;
    let text = |body: &str| Request::post("/text").typed("text/plain; charset=utf-8", body);
    same(&app, &text("grün"), &text("grün")).await;
    other(&app, &text("grün"), &text("grun")).await;
}

async fn chunked_bodies(stage: &Stage) {
    let app = stage.start().await;
    let typed = || Request::post("/bytes").header("Content-Type", "text/plain");
    let fixed = typed().body("one two three");
    same(&app, &fixed, &typed().chunked(["one ", "two", " three"])).await;
    same(
        &app,
        &typed().chunked(["one two", " three"]),
        &typed().chunked(["one two three"]),
    )
    .await;
    other(&app, &fixed, &typed().chunked(["one ", "two", " four"])).await;
    other(
        &app,
        &typed().chunked(["one"]),
        &typed().chunked(["one", "two"]),
    )
    .await;
}

async fn compressed_bodies(stage: &Stage) {
    let app = stage.start().await;
    for path in ["/bytes", "/wire"] {
        let typed = || Request::post(path).header("Content-Type", "application/json");
        let plain = r#"{"a":1,"b":2}"#;
        let packed = || typed().header("Content-Encoding", "gzip").body(gzip(plain));
        same(&app, &packed(), &packed()).await;
        other(&app, &packed(), &typed().body(plain)).await;
        other(&app, &packed(), &typed().body(gzip(plain))).await;
        // Nothing is inflated for hashing: the same members in another order are other bytes.
        let reordered = typed()
            .header("Content-Encoding", "gzip")
            .body(gzip(r#"{"b":2,"a":1}"#));
        other(&app, &packed(), &reordered).await;
    }
    // What the handler gets is what its extractor makes of it.
    let packed = |path: &str| {
        let request = Request::post(path)
            .bearer("acme:one")
            .key(format!("digest{path}"));
        request
            .header("Content-Type", "text/plain")
            .header("Content-Encoding", "gzip")
            .body(gzip("text"))
    };
    let inflated = app.send(&packed("/bytes")).await;
    let plain = Request::post("/bytes")
        .bearer("acme:one")
        .key("plain")
        .typed("text/plain", "text");
    assert_eq!(inflated.body, app.send(&plain).await.body);
    assert_ne!(inflated.body, app.send(&packed("/wire")).await.body);
}

fn json(body: &str) -> Request {
    Request::post("/json").typed("application/json", body)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Sends both with one fresh key.
async fn pair(app: &App, left: &Request, right: &Request) -> [idem_tests::Response; 2] {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let key = format!(
        "pair{}",
        NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    );
    let [left, right] = [left, right].map(|request| request.clone().bearer("acme:one").key(&key));
    let first = app.send(&left).await;
    assert_eq!(first.status, 200, "{left:?}: {}", first.text());
    [first, app.send(&right).await]
}

async fn same(app: &App, left: &Request, right: &Request) {
    let [first, second] = pair(app, left, right).await;
    assert!(second.is_replay(), "{left:?}\n{right:?}\n{}", second.text());
    assert_replay(&first, &second);
}

async fn other(app: &App, left: &Request, right: &Request) {
    let [_, second] = pair(app, left, right).await;
    assert_eq!(second.status, 422, "{left:?}\n{right:?}\n{}", second.text());
    assert_reused(&second);
}
