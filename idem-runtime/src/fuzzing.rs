//! What the fuzz targets call: one function for each, which panics where a rule is broken. Compiled under
//! `--cfg fuzzing` only, which cargo-fuzz sets; no part of the API.

#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::expect_used,
    reason = "the head of this file says what they are"
)]

use std::collections::HashSet;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use serde_json::value::RawValue;

use crate::canonical::{canonical_json, oracle};
use crate::key::{self, KeyError, MAX_LENGTH};
use crate::lease::{KeptRequest, finished};
use crate::response::{self, StoredResponse};

/// The lines of the key's header, one after the other.
pub fn key(data: &[u8]) {
    let name = HeaderName::from_static("idempotency-key");
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(name.clone(), value);
        }
    }
    let lenient = key::parse(&headers, &name, false);
    let strict = key::parse(&headers, &name, true);
    match (&lenient, &strict) {
        (Ok(lenient), Ok(strict)) => assert_eq!(lenient, strict),
        (Ok(bare), Err(KeyError::NotQuoted)) => {
            assert!(bare.bytes().all(|byte| byte.is_ascii_graphic()));
        }
        (Err(_), Err(_)) => {}
        _ => panic!("{lenient:?}, and strictly {strict:?}"),
    }
    let Ok(content) = lenient else { return };
    assert!((1..=MAX_LENGTH).contains(&content.len()));
    assert!(content.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
    // Quoted, it names the same key.
    let quoted = content.replace('\\', "\\\\").replace('"', "\\\"");
    let quoted = HeaderValue::try_from(format!("\"{quoted}\"")).expect("visible ASCII");
    let mut headers = HeaderMap::new();
    headers.append(name.clone(), quoted);
    assert_eq!(key::parse(&headers, &name, true), Ok(content));
}

/// A body, against the slow implementation.
pub fn canonical(data: &[u8]) {
    let form = canonical_json(data);
    let tree = oracle::parse(data);
    assert_eq!(form.as_deref().map(oracle::parse), tree.map(Some));
    if let Some(form) = form {
        assert!(form.len() <= data.len());
        assert_eq!(canonical_json(&form), Some(form));
    }
}

/// Two bodies, apart at the first zero byte: they have one form exactly if the slow implementation says that they are
/// the same.
pub fn canonical_pair(data: &[u8]) {
    let Some(middle) = data.iter().position(|byte| *byte == 0) else {
        return;
    };
    let (one, other) = (&data[..middle], &data[middle + 1..]);
    let forms = (canonical_json(one), canonical_json(other));
    let trees = (oracle::parse(one), oracle::parse(other));
    if let (Some(one), Some(other)) = &trees {
        assert_eq!(one == other, forms.0 == forms.1);
    }
    assert_eq!(trees.0.is_some(), forms.0.is_some());
    assert_eq!(trees.1.is_some(), forms.1.is_some());
}

/// A stored response: two bytes of status, then header lines; what is behind an empty line is the body.
pub fn response(data: &[u8]) {
    let Some((status, rest)) = data.split_first_chunk::<2>() else {
        return;
    };
    let end = rest.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = rest.split_at(end.unwrap_or(rest.len()));
    let stored = StoredResponse {
        status: u16::from_be_bytes(*status),
        headers: String::from_utf8_lossy(head).into_owned(),
        body: end.map(|_| Bytes::copy_from_slice(body)),
    };
    let marker = HeaderName::from_static("idempotent-replayed");
    let lines = |stored: &StoredResponse| {
        let answer = response::replay(stored, &marker).ok()?;
        Some(response::written(
            answer.headers(),
            std::slice::from_ref(&marker),
        ))
    };
    let Some(headers) = lines(&stored) else {
        return;
    };
    // What was replayed and stored again is replayed the same.
    let again = StoredResponse { headers, ..stored };
    let more = lines(&again).expect("what we have written ourselves");
    assert_eq!(sorted(&more), sorted(&again.headers));
}

/// By name; the lines of one name stay in order.
fn sorted(headers: &str) -> Vec<&str> {
    let mut lines: Vec<_> = headers.lines().collect();
    lines.sort_by_key(|line| line.split_once(": ").map(|(name, _)| name));
    lines
}

/// A kept request as it stands in its row.
pub fn kept(data: &[u8]) {
    let Some(kept) = KeptRequest::read(data) else {
        return;
    };
    assert!(data.ends_with(kept.body()));
    let request = kept.to_request("account:a", "k");
    assert_eq!(request.method(), kept.method());
    assert_eq!(request.head().headers.len(), kept.headers().count());
    // Written anew by the rule, it reads the same.
    let mut bytes = format!("{} {}\n", kept.method(), kept.uri()).into_bytes();
    for (name, value) in kept.headers() {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\n"].concat());
    }
    bytes.push(b'\n');
    bytes.extend(kept.body());
    let again = KeptRequest::read(&bytes).expect("what was read, written");
    assert_eq!((again.method(), again.body()), (kept.method(), kept.body()));
    assert!(again.headers().eq(kept.headers()));
}

/// The finished steps as they stand in their row.
pub fn steps(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut names = HashSet::new();
    for finished in finished(&text) {
        assert!(
            names.insert(finished.step.clone()),
            "{:?} is there twice",
            finished.step
        );
        // A value by its syntax: `1e999` is one, although no number of ours can hold it.
        assert!(serde_json::from_str::<&RawValue>(finished.result.get()).is_ok());
    }
}
