//! Header floods: many lines, long lines, lines without end, and many lines of the names that we read.

use idem_tests::{App, Request, Stage, in_both_styles};

use super::{answered, peak};
use crate::asking::{assert_replay, assert_runs, marking};

in_both_styles! { header_floods }

/// What the server takes: 96 lines, less what every request of ours has.
const TAKEN: usize = 90;
const GROWTH_KIB: u64 = 64 * 1024;

fn request(key: &str) -> Request {
    Request::post("/account/script").bearer("acme:one").key(key)
}

fn flooded(request: Request, count: usize, name: &str, value: &str) -> Request {
    (0..count).fold(request, |request, index| {
        request.header(&name.replace('#', &index.to_string()), value)
    })
}

async fn header_floods(stage: &Stage) {
    let app = stage.start().await;
    assert_runs(&app, "warm", "warm").await;
    let before = peak(&app);
    let script = marking("flooded");

    // What the server takes runs, and is recognized again.
    let names = [
        ("many names", "x-#"),
        ("many media types", "Content-Type"),
        ("many encodings", "Content-Encoding"),
        ("many hosts along the way", "X-Forwarded-For"),
    ];
    for (index, (what, name)) in names.into_iter().enumerate() {
        let key = format!("k{index}");
        let flooded = flooded(request(&key), TAKEN, name, &"v".repeat(1000));
        let first = answered(&app, what, &flooded.clone().json(&script)).await;
        if first.status == 201 {
            assert_replay(&first, &answered(&app, what, &flooded.json(&script)).await);
        } else {
            assert!((400..500).contains(&first.status), "{what}: {first:?}");
            assert_runs(&app, &key, "corrected").await;
        }
    }
    let keys = flooded(request("k"), TAKEN, "Idempotency-Key", "k").json(&script);
    answered(&app, "many keys", &keys)
        .await
        .assert_problem(400, "idempotency-key-invalid", false);

    // What it does not take is refused by the server itself.
    let over = [
        (
            "too many lines",
            flooded(request("over"), 10_000, "x-#", "v"),
        ),
        (
            "a line of a megabyte",
            request("over").header("x", "v".repeat(1 << 20)),
        ),
        ("a key of a megabyte", request(&"k".repeat(1 << 20))),
    ];
    for (what, request) in over {
        refused(&app, what, &request.json(&script).encode()).await;
    }
    let mut endless = b"POST /account/script HTTP/1.1\r\n".to_vec();
    endless.extend(b"x: y\r\n".repeat(1 << 18));
    refused(&app, "lines without end", &endless).await;
    refused(&app, "a name without end", &vec![b'x'; 1 << 20]).await;

    let after = peak(&app);
    println!("peak before: {before} KiB, after: {after} KiB");
    assert!(
        after - before < GROWTH_KIB,
        "{before} KiB, then {after} KiB"
    );
    assert_runs(&app, "over", "after").await;
}

/// Answered with an error of the client, or cut off.
async fn refused(app: &App, what: &str, wire: &[u8]) {
    let mut connection = app.connect().await;
    // The server may close its side before we are through.
    let _ = connection.write(wire).await;
    match connection.read(false).await {
        Ok(answer) => {
            println!("{what}: {}", answer.status);
            assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
        }
        Err(error) => {
            println!("{what}: {error}");
            assert_ne!(error.kind(), std::io::ErrorKind::TimedOut, "{what}");
        }
    }
}
