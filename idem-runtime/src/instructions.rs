//! What a request's body costs the processor: one test for each thing, layout and size, to be run
//! under callgrind, which counts instructions. Nothing here judges a number, and nothing here is
//! part of the product.
//!
//! ```sh
//! # Build; the executable's name is the "executable" of the line with "kind":["lib"].
//! cargo test --release -p idem-runtime --lib --no-run --message-format=json
//! # One count: "Collected : N" in what valgrind prints.
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     --toggle-collect='*instructions::measured*' \
//!     EXECUTABLE --exact --test-threads=1 instructions::fingerprint::compact_64k
//! # The same as ratios in time, which a processor with SHA instructions changes.
//! cargo test --release -p idem-runtime --lib -- --exact --nocapture instructions::in_time
//! ```
//!
//! A test's name is `instructions::THING::LAYOUT_SIZE`, with
//!
//! | THING | what is counted |
//! |---|---|
//! | `sha256` | SHA-256 of the body: the unit of the others. Without SHA instructions, since valgrind has none |
//! | `parse` | taking what the fingerprint needs out of the request |
//! | `fingerprint` | the fingerprint over the canonical form |
//! | `raw` | the fingerprint over the body as it came |
//! | `read` | collecting the body from the chunks that the wire sends |
//! | `capture` | taking a response with this body apart, to be stored |
//! | `value` | for comparison: the body as a [`serde_json::Value`], which is what an extractor may make of it |
//!
//! LAYOUT is `compact` or `pretty`; SIZE is `1k`, `64k` or `1m`, the least number of bytes.

use std::hint::black_box;
use std::time::Instant;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::test::TestRequest;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::{FutureExt, StreamExt, stream};
use sha2::{Digest, Sha256};

use crate::fingerprint::{Secrets, Subject};
use crate::policy::BodyForm;
use crate::response::{UNREPLAYED, capture as capture_response};

mod documents;

use documents::{Layout, document};

/// The name that callgrind looks for. What is dropped is dropped outside.
#[inline(never)]
fn measured<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

macro_rules! measurements {
    ($($thing:ident)*) => {$(
        mod $thing {
            use super::{$thing as thing, Layout::{Compact, Pretty}, document};

            #[test]
            fn compact_1k() { thing(document(Compact, 1 << 10)); }
            #[test]
            fn compact_64k() { thing(document(Compact, 64 << 10)); }
            #[test]
            fn compact_1m() { thing(document(Compact, 1 << 20)); }
            #[test]
            fn pretty_1k() { thing(document(Pretty, 1 << 10)); }
            #[test]
            fn pretty_64k() { thing(document(Pretty, 64 << 10)); }
            #[test]
            fn pretty_1m() { thing(document(Pretty, 1 << 20)); }
        }
    )*};
}

measurements! { sha256 parse fingerprint raw read capture value }

fn sha256(body: Bytes) {
    measured(|| Sha256::digest(&body));
}

fn parse(body: Bytes) {
    let request = request(&body);
    measured(|| Subject::new(&request, body));
}

fn fingerprint(body: Bytes) {
    let subject = Subject::new(&request(&body), body);
    let secrets = Secrets::default();
    measured(|| secrets.fingerprint(&subject, BodyForm::Json));
}

fn raw(body: Bytes) {
    let subject = Subject::new(&request(&body), body);
    let secrets = Secrets::default();
    measured(|| secrets.fingerprint(&subject, BodyForm::Raw));
}

fn read(body: Bytes) {
    let request = request(&body);
    let chunks: Vec<_> = body
        .chunks(16 << 10)
        .map(|chunk| Ok::<_, PayloadError>(Bytes::copy_from_slice(chunk)))
        .collect();
    let payload = Payload::Stream {
        payload: stream::iter(chunks).boxed_local(),
    };
    let read = measured(|| crate::body::read(&request, payload, usize::MAX).now_or_never());
    assert_eq!(read.unwrap().unwrap(), body);
}

fn capture(body: Bytes) {
    let response = HttpResponse::Created()
        .insert_header(("location", "/orders/7f1c2a90"))
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-request-id", "0190e7a3-5b6c-7d8e-9f00-112233445566"))
        .content_type("application/json")
        .body(body);
    let unreplayed = UNREPLAYED.map(actix_web::http::header::HeaderName::from_static);
    let captured = measured(|| capture_response(response, usize::MAX, &unreplayed).now_or_never());
    assert!(captured.unwrap().is_ok());
}

fn value(body: Bytes) {
    let value: Result<serde_json::Value, _> = measured(|| serde_json::from_slice(&body));
    value.unwrap();
}

fn request(body: &Bytes) -> HttpRequest {
    TestRequest::post()
        .uri("/shops/berlin/orders?channel=web")
        .insert_header(("content-type", "application/json"))
        .insert_header(("content-length", body.len()))
        .to_http_request()
}

/// Prints the fingerprint's time over that of the bare digest, best of many interleaved rounds.
#[test]
fn in_time() {
    for layout in [Layout::Compact, Layout::Pretty] {
        let body = document(layout, 64 << 10);
        let subject = Subject::new(&request(&body), body.clone());
        let secrets = Secrets::default();
        let mut best = [f64::INFINITY; 3];
        for _ in 0..100 {
            let rounds = [
                seconds(|| Sha256::digest(&body)),
                seconds(|| secrets.fingerprint(&subject, BodyForm::Json)),
                seconds(|| serde_json::from_slice::<serde_json::Value>(&body).is_ok()),
            ];
            best = std::array::from_fn(|thing| best[thing].min(rounds[thing]));
        }
        let [bare, fingerprint, value] = best;
        println!(
            "{layout:?}, 64 KB: fingerprint {:.2}, serde_json::Value {:.2} of the bare digest's time",
            fingerprint / bare,
            value / bare
        );
    }
}

fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    let made = black_box(work());
    let took = begin.elapsed().as_secs_f64();
    drop(made);
    took
}
