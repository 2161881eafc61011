//! What is read back from the table, whole or damaged, and written again.

use std::collections::HashSet;

use actix_web::body::MessageBody;
use actix_web::http::header::HeaderName;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lease::{Asked, DamagedLine, Finished, KeptRequest, Log, StepLine, lines, written};
use crate::response::{self, StoredResponse};

/// A stored response: two bytes of status, then header lines; what is behind an empty line is the body.
pub fn response(data: &[u8]) {
    let Some((status, rest)) = data.split_first_chunk::<2>() else {
        return;
    };
    let end = rest.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = rest.split_at(end.unwrap_or(rest.len()));
    let stored = StoredResponse::of_columns(
        i16::from_be_bytes(*status),
        Some(String::from_utf8_lossy(head).into_owned()),
        end.map(|_| body.to_vec()),
    );
    let marker = HeaderName::from_static("idempotent-replayed");
    let lines = |stored: &StoredResponse| {
        let answer = response::replay(stored, &marker).ok()?;
        assert_eq!(answer.status().as_u16(), stored.status);
        assert_eq!(answer.headers().get_all(&marker).count(), 1);
        let headers = response::written(answer.headers(), std::slice::from_ref(&marker));
        let body = answer.into_body().try_into_bytes().ok();
        assert_eq!(
            body.unwrap_or_default(),
            stored.body.clone().unwrap_or_default()
        );
        Some(headers)
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
    // Kept anew, it reads the same.
    let bytes = written(kept.method(), kept.uri(), kept.headers(), kept.body());
    let again = KeptRequest::read(&bytes).expect("what we have written ourselves");
    assert_eq!((again.method(), again.body()), (kept.method(), kept.body()));
    let target = |kept: &KeptRequest| {
        let target = kept.uri().path_and_query();
        target.map_or_else(|| "/".to_owned(), ToString::to_string)
    };
    assert_eq!(target(&again), target(&kept));
    assert!(again.headers().eq(kept.headers()));
}

fn line(step: &str, result: &RawValue) -> serde_json::Result<String> {
    StepLine::of(Finished::new(step, &result)?).text()
}

fn finished(text: &str) -> impl Iterator<Item = Finished> {
    lines(text).filter_map(|line| line.ok()?.plain().ok())
}

/// The finished steps as they stand in their row.
pub fn steps(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut names = HashSet::new();
    let plain = |line: StepLine| line.plain().map_err(|_| DamagedLine);
    let Ok(mut log) = Log::read(&text, plain) else {
        return;
    };
    let mut again = String::new();
    for finished in finished(&text) {
        let (step, result) = (&*finished.step, finished.result.get());
        assert!(names.insert(step.to_owned()), "{step:?} is there twice");
        // A value by its syntax: `1e999` is one, although no number of ours can hold it.
        assert!(serde_json::from_str::<IgnoredAny>(result).is_ok());
        // A run that asks for them in their order gets them.
        assert_eq!(log.left_out(), Some(step));
        assert!(matches!(log.ask(step), Ok(Asked::Finished(json)) if json == result));
        assert!(log.ask(step).is_err());
        again += &line(step, &finished.result).expect("JSON");
    }
    assert_eq!(log.left_out(), None);
    // Written anew, they read the same.
    let pairs = |text: &str| -> Vec<_> {
        let pair = |finished: Finished| (finished.step, finished.result.get().to_owned());
        finished(text).map(pair).collect()
    };
    assert_eq!(pairs(&again), pairs(&text));
    // So does any text as a name, and any JSON as a result, however many lines it has.
    if let Ok(result) = serde_json::from_str::<Box<RawValue>>(&text) {
        let one = line(&text, &result).expect("JSON");
        let same = |json: &str| serde_json::from_str::<Value>(json).ok();
        assert!(
            matches!(&pairs(&one)[..], [(step, read)] if *step == text && same(read) == same(result.get()))
        );
    }
}
