//! Tests of operations: which get a key, what is saved, and how old one may be.

use reqwest::header::ACCEPT;
use serde_json::{Value, json};

use super::*;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn keys() -> Keys {
    Keys {
        header: HeaderName::from_static("idempotency-key"),
        form: KeyForm::Quoted,
    }
}

fn request(method: Method) -> Request {
    Request::new(method, "https://api.example/orders?x=1".parse().unwrap())
}

fn operation(request: &Request, key: Option<&str>) -> Result<PendingOperation, NotSent> {
    let key = key.map(|key| Key::new(key).unwrap());
    let terms = Terms {
        key,
        ..Terms::default()
    };
    PendingOperation::of(request, &keys(), terms)
}

fn saved(operation: &PendingOperation) -> Value {
    serde_json::to_value(operation).unwrap()
}

fn loaded(value: Value) -> Result<PendingOperation, serde_json::Error> {
    serde_json::from_value(value)
}

#[test]
fn what_is_not_idempotent_by_rfc_9110_gets_a_key() {
    for (method, expected) in [
        ("POST", true),
        ("PATCH", true),
        ("LOCK", true),
        ("GET", false),
        ("HEAD", false),
        ("OPTIONS", false),
        ("TRACE", false),
        ("PUT", false),
        ("DELETE", false),
    ] {
        let method: Method = method.parse().unwrap();
        let has_key = operation(&request(method.clone()), None)
            .unwrap()
            .key()
            .is_some();
        assert_eq!(has_key, expected, "{method}");
    }
    let connect = operation(&request(Method::CONNECT), None);
    assert!(matches!(connect, Err(NotSent::Method(_))));
}

#[test]
fn a_key_of_the_callers_is_kept_as_it_is() {
    let brought = operation(&request(Method::POST), Some("mine")).unwrap();
    assert_eq!(brought.key(), Some("\"mine\""));
    assert_eq!(
        operation(&request(Method::PUT), Some("mine"))
            .unwrap()
            .key(),
        Some("\"mine\"")
    );

    let mut written = request(Method::POST);
    written
        .headers_mut()
        .insert("idempotency-key", HeaderValue::from_static("as, it;is"));
    let kept = operation(&written, None).unwrap();
    assert_eq!(kept.key(), Some("as, it;is"));
    assert_eq!(kept.request().headers()["idempotency-key"], "as, it;is");

    assert!(matches!(
        operation(&written, Some("mine")),
        Err(NotSent::Keys)
    ));
    written
        .headers_mut()
        .append("idempotency-key", HeaderValue::from_static("b"));
    assert!(matches!(operation(&written, None), Err(NotSent::Keys)));
    for bad in [&b"k\xe9"[..], b"", b"  "] {
        let bad = HeaderValue::from_bytes(bad).unwrap();
        written.headers_mut().insert("idempotency-key", bad);
        assert!(matches!(operation(&written, None), Err(NotSent::Key(_))));
    }
}

#[test]
fn what_cannot_be_sent_twice_or_saved_is_refused() {
    let mut streamed = request(Method::POST);
    *streamed.body_mut() = Some(reqwest::Body::wrap("a stream".to_owned()));
    assert!(matches!(operation(&streamed, None), Err(NotSent::Stream)));

    for (url, is_credentials) in [
        ("ftp://api.example/", false),
        ("data:text/plain,x", false),
        ("https://user@api.example/", true),
        ("https://user:secret@api.example/", true),
        ("https://:secret@api.example/", true),
    ] {
        let refused =
            operation(&Request::new(Method::POST, url.parse().unwrap()), None).unwrap_err();
        assert_eq!(
            matches!(refused, NotSent::Credentials),
            is_credentials,
            "{url}"
        );
        assert!(is_credentials || matches!(refused, NotSent::Url), "{url}");
    }
}

#[test]
fn what_is_saved_comes_back_the_same_but_for_its_secrets() {
    let mut made = request(Method::POST);
    let headers = made.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.append("x-a", HeaderValue::from_static("1"));
    headers.append("x-a", HeaderValue::from_bytes(b"caf\xe9").unwrap());
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer t0ken"));
    headers.insert(COOKIE, HeaderValue::from_static("session=c00kie"));
    let mut marked = HeaderValue::from_static("m4rked");
    marked.set_sensitive(true);
    headers.insert("x-signature", marked);
    *made.body_mut() = Some(vec![0, 159, 146, 150].into());
    let first = operation(&made, None).unwrap();

    let text = saved(&first).to_string();
    for secret in ["t0ken", "c00kie", "m4rked"] {
        assert!(!text.contains(secret), "{text}");
    }
    let mut second = loaded(saved(&first)).unwrap();
    assert_eq!(second.key(), first.key());
    assert!(first.key().is_some());
    assert!(second.may_have_arrived() && !first.may_have_arrived());

    // Nothing is sent until all three are back.
    for (name, value) in [
        (AUTHORIZATION, "Bearer new"),
        (COOKIE, "session=new"),
        (HeaderName::from_static("x-signature"), "new"),
    ] {
        assert!(matches!(second.check(), Err(NotSent::Header(_))));
        second.secret_header(name, HeaderValue::from_static(value));
    }
    second.check().unwrap();
    let (one, two) = (first.request(), second.request());
    assert_eq!((one.method(), one.url()), (two.method(), two.url()));
    let bytes = |request: &Request| {
        request
            .body()
            .and_then(|body| body.as_bytes())
            .map(Vec::from)
    };
    assert_eq!(bytes(&one), bytes(&two));
    for name in ["accept", "x-a", "idempotency-key"] {
        let all = |request: &Request| -> Vec<_> {
            request.headers().get_all(name).iter().cloned().collect()
        };
        assert_eq!(all(&one), all(&two), "{name}");
    }
    assert_eq!(two.headers()[AUTHORIZATION], "Bearer new");
    assert!(two.headers()[AUTHORIZATION].is_sensitive());
    // And what was given back is not saved either.
    assert!(!saved(&second).to_string().contains("Bearer new"));
    assert!(loaded(saved(&second)).unwrap().check().is_err());
}

#[test]
fn the_key_is_saved_though_it_is_sensitive_and_cannot_be_replaced() {
    let mut operation = operation(&request(Method::POST), Some("mine")).unwrap();
    assert!(operation.request().headers()["idempotency-key"].is_sensitive());
    let name = HeaderName::from_static("idempotency-key");
    operation.secret_header(name, HeaderValue::from_static("other"));
    let loaded = loaded(saved(&operation)).unwrap();
    assert_eq!(loaded.key(), Some("\"mine\""));
    assert!(loaded.request().headers()["idempotency-key"].is_sensitive());
}

#[test]
fn the_form_of_version_1_stays_readable() {
    let written = json!({
        "version": 1,
        "created_ms": 1_700_000_000_000_u64,
        "retention_ms": 86_400_000,
        "method": "POST",
        "url": "https://api.example/orders",
        "key_header": "idempotency-key",
        "headers": [
            ["content-type", { "text": "application/json" }],
            ["idempotency-key", { "text": "\"0193a6e2-7d4b-7c7e-9a51-2f6f0e1b8c11\"" }],
            ["x-raw", { "base64": "6Q==" }],
        ],
        "omitted": ["authorization"],
        "body": { "text": "{\"item\":\"tea\"}" },
    });
    let read = loaded(written.clone()).unwrap();
    assert_eq!(read.request().headers()["x-raw"].as_bytes(), b"\xe9");
    assert_eq!(saved(&read), written);
}

#[test]
fn what_is_no_operation_is_not_read() {
    let good = saved(&operation(&request(Method::POST), Some("mine")).unwrap());
    assert!(loaded(good.clone()).is_ok());
    for (member, bad) in [
        ("version", json!(2)),
        ("method", json!("CONNECT")),
        ("method", json!("a b")),
        ("url", json!("nowhere")),
        ("url", json!("https://user:secret@api.example/")),
        ("headers", json!([])),
        (
            "headers",
            json!([["idempotency-key", { "text": "a" }], ["idempotency-key", { "text": "a" }]]),
        ),
        ("headers", json!([["idempotency-key", { "text": "" }]])),
        ("headers", json!([["a b", { "text": "" }]])),
        ("headers", json!([["a", { "text": "x\ny" }]])),
        ("body", json!({ "base64": "?" })),
        ("omitted", json!(["a b"])),
    ] {
        let mut changed = good.clone();
        changed[member] = bad.clone();
        let refused = loaded(changed);
        assert!(refused.is_err(), "{member} {bad}");
        assert!(!refused.unwrap_err().to_string().contains("secret"));
    }
}

#[test]
fn an_operation_ages() {
    let mut operation = operation(&request(Method::POST), None).unwrap();
    let made = operation.created();
    assert_eq!(operation.time_left(None, made), Ok(Duration::MAX));
    let day = 24 * HOUR;
    // Less five minutes.
    let left = |operation: &PendingOperation, default, age: Duration| {
        let left = operation.time_left(default, made + age);
        left.map(|left| left.as_secs())
    };
    let new = 24 * 3600 - 300;
    assert_eq!(left(&operation, Some(day), Duration::ZERO), Ok(new));
    assert_eq!(left(&operation, Some(day), day - HOUR), Ok(3600 - 300));
    for age in [day - HOUR / 12, day, day * 9] {
        assert_eq!(left(&operation, Some(day), age), Err(Why::RetentionOver));
    }
    // Less a tenth.
    assert_eq!(
        left(&operation, Some(Duration::from_secs(100)), Duration::ZERO),
        Ok(90)
    );
    // The clock was put back: a little, and by more than anybody knows.
    let margin = HOUR / 12;
    let back = |by| operation.time_left(Some(HOUR), made - by);
    assert_eq!(back(margin), Ok(HOUR - margin));
    assert_eq!(back(margin + margin), Err(Why::ClockBehind));
    operation.retention = Some(HOUR);
    assert_eq!(left(&operation, Some(day), Duration::ZERO), Ok(3600 - 300));
}

#[test]
fn an_operation_is_as_old_as_its_key() {
    let made = SystemTime::now() - 2 * HOUR;
    let terms = Terms {
        key: Some(Key::new("kept").unwrap()),
        created: Some(made),
        retention: Some(HOUR),
        may_have_arrived: false,
    };
    let old = PendingOperation::of(&request(Method::POST), &keys(), terms).unwrap();
    assert_eq!(old.created(), made);
    let left = old.time_left(None, SystemTime::now());
    assert_eq!(left, Err(Why::RetentionOver));
}

#[test]
fn what_needs_a_key_is_neither_loaded_nor_sent_without_one() {
    for (method, needs_one) in [
        (Method::POST, true),
        (Method::PATCH, true),
        (Method::PUT, false),
    ] {
        let good = operation(&request(method.clone()), Some("mine")).unwrap();
        let mut null = saved(&good);
        null["key_header"] = Value::Null;
        let mut absent = saved(&good);
        absent.as_object_mut().unwrap().remove("key_header");
        for keyless in [null, absent] {
            let refused = loaded(keyless).err().map(|error| error.to_string());
            let is_refused = refused.is_some_and(|error| error.contains("without the key"));
            assert_eq!(is_refused, needs_one, "{method}");
        }
        let mut keyless = good;
        keyless.key_header = None;
        let is_refused = matches!(keyless.check(), Err(NotSent::NoKey));
        assert_eq!(is_refused, needs_one, "{method}");
    }
}

/// What is damaged may stand anywhere, and serde's messages repeat it.
#[test]
fn nothing_of_a_damaged_file_is_printed() {
    let good = saved(&operation(&request(Method::POST), Some("mine")).unwrap());
    for (member, bad) in [
        ("body", json!({ "card4111": "x" })),
        ("body", json!("card4111")),
        ("version", json!("card4111")),
        ("created_ms", json!("card4111")),
        ("url", json!("card4111")),
        ("method", json!("card 4111")),
        ("key_header", json!("card 4111")),
        ("headers", json!([["card 4111", { "text": "x" }]])),
        ("headers", json!([["idempotency-key", { "card4111": "x" }]])),
        ("omitted", json!({ "card4111": 4111 })),
    ] {
        let mut changed = good.clone();
        changed[member] = bad;
        let text = changed.to_string();
        let refused = serde_json::from_str::<PendingOperation>(&text).unwrap_err();
        let printed = format!("{refused} {refused:?}");
        assert!(!printed.contains("4111"), "{member}: {printed}");
    }
}

#[test]
fn nothing_of_it_is_printed() {
    let mut made = request(Method::POST);
    *made.body_mut() = Some("b0dy".into());
    made.headers_mut()
        .insert(AUTHORIZATION, HeaderValue::from_static("t0ken"));
    let printed = format!("{:?}", operation(&made, Some("m1ne")).unwrap());
    for secret in ["b0dy", "t0ken", "m1ne", "x=1"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}
