//! Tests of the loop over scripted attempts, on a clock that nobody waits for.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Request, StatusCode};

use super::*;
use crate::key::KeyForm;
use crate::operation::{Keys, Terms};

const SECOND: Duration = Duration::from_secs(1);
const MARKER: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What one attempt brings.
enum Brings {
    Status(u16),
    Problem(u16, &'static str),
    RetryAfter(u16, &'static str),
    Replay(u16),
    /// Nothing, until its time is over.
    Silence,
}

/// Answers in order; keeps when and with which key it was asked, and for how long.
#[derive(Default)]
struct Script {
    brings: Mutex<VecDeque<Brings>>,
    asked: Mutex<Vec<(Instant, String, Duration)>>,
}

impl Attempt for Script {
    async fn once(&self, operation: &PendingOperation, time: Duration) -> Result<Answer, Failed> {
        let key = operation.key().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push((Instant::now(), key, time));
        let brings = self
            .brings
            .lock()
            .unwrap()
            .pop_front()
            .expect("one attempt too many");
        let mut headers = HeaderMap::new();
        let (status, body) = match brings {
            Brings::Status(status) => (status, ""),
            Brings::Problem(status, members) => {
                headers.insert(
                    CONTENT_TYPE,
                    HeaderValue::from_static("application/problem+json"),
                );
                (status, members)
            }
            Brings::RetryAfter(status, value) => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
                (status, "")
            }
            Brings::Replay(status) => {
                headers.insert(MARKER, HeaderValue::from_static("true"));
                (status, "")
            }
            Brings::Silence => {
                sleep(time).await;
                return Err(Failed::Way(Failure::Timeout));
            }
        };
        let status = StatusCode::from_u16(status).unwrap();
        Ok(Answer::new(status, headers, Bytes::from(body), &MARKER))
    }
}

fn limits() -> Limits {
    Limits {
        budget: SECOND * 60,
        attempt_timeout: SECOND * 10,
        backoff: ExponentialBuilder::new().without_max_times(),
        retention: None,
    }
}

fn operation() -> PendingOperation {
    let keys = Keys {
        header: HeaderName::from_static("idempotency-key"),
        form: KeyForm::Quoted,
    };
    let request = Request::new(Method::POST, "http://api.example/".parse().unwrap());
    PendingOperation::of(&request, &keys, Terms::default()).unwrap()
}

async fn run(
    limits: &Limits,
    operation: &mut PendingOperation,
    brings: impl IntoIterator<Item = Brings>,
) -> (Outcome, Vec<(Instant, String, Duration)>) {
    let script = Script {
        brings: Mutex::new(brings.into_iter().collect()),
        ..Script::default()
    };
    let drive = drive(&script, limits, operation, &SystemTime::now);
    let outcome = drive.await.unwrap();
    let asked = script.asked.into_inner().unwrap();
    assert_eq!(outcome.attempts() as usize, asked.len());
    assert!(
        script.brings.into_inner().unwrap().is_empty(),
        "too few attempts"
    );
    (outcome, asked)
}

#[tokio::test(start_paused = true)]
async fn one_key_for_all_attempts() {
    let brings = [
        Brings::Silence,
        Brings::Status(503),
        Brings::Problem(409, r#"{"code":"idempotency-in-flight","retryable":true}"#),
        Brings::Status(429),
        Brings::Replay(201),
    ];
    let mut operation = operation();
    let (outcome, asked) = run(&limits(), &mut operation, brings).await;
    assert!(matches!(outcome, Outcome::Done(_)) && outcome.replayed());
    assert!(
        asked
            .iter()
            .all(|(_, key, _)| Some(key.as_str()) == operation.key())
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_word_that_is_final_ends_it() {
    for status in [400, 401, 403, 409, 422] {
        let (outcome, _) = run(&limits(), &mut operation(), [Brings::Status(status)]).await;
        let Outcome::Refused(refused) = outcome else {
            panic!("{status}: {outcome:?}");
        };
        assert!(!refused.into_operation().may_have_arrived(), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_behind_an_attempt_that_may_be_done_is_no_refusal() {
    for earlier in [Brings::Silence, Brings::Status(502)] {
        let brings = [earlier, Brings::Status(401)];
        let (outcome, _) = run(&limits(), &mut operation(), brings).await;
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(unknown.why(), Why::RefusedLater);
        assert!(unknown.may_be_done() && unknown.why().may_go_on());
        assert_eq!(unknown.answer().unwrap().status(), 401);
        // And in the next call it is none either.
        let (again, _) = run(
            &limits(),
            &mut unknown.into_operation(),
            [Brings::Status(401)],
        )
        .await;
        assert!(matches!(again, Outcome::Unknown(_)), "{again:?}");
    }
    // Who was too early has done nothing. Who was one too many may have finished steps.
    for (status, is_known) in [(425, true), (429, false)] {
        let brings = [status, 401].map(Brings::Status);
        let (outcome, _) = run(&limits(), &mut operation(), brings).await;
        let is_refused = matches!(outcome, Outcome::Refused(_));
        assert_eq!(is_refused, is_known, "{status}: {outcome:?}");
    }
}

/// The draft, section 2.7: the first attempt still runs, and the server says 409 and no more. And the ways in which the effect itself
/// has the retry refused.
#[tokio::test(start_paused = true)]
async fn no_refusal_of_a_retry_is_one_of_the_operation() {
    for status in [400, 404, 409, 410, 412, 415, 422] {
        let brings = [Brings::Silence, Brings::Status(status)];
        let mut operation = operation();
        let (outcome, _) = run(&limits(), &mut operation, brings).await;
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{status}: {outcome:?}");
        };
        assert_eq!(unknown.why(), Why::RefusedLater, "{status}");
        assert!(unknown.may_be_done() && unknown.why().may_go_on());
        // What it was in truth is said at the next run, by the mark.
        let (outcome, _) = run(&limits(), &mut operation, [Brings::Replay(201)]).await;
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        let (outcome, _) = run(&limits(), &mut operation, [Brings::Replay(status)]).await;
        assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_loaded_is_not_refused_by_a_409_that_says_no_more() {
    let saved = serde_json::to_value(operation()).unwrap();
    let mut loaded: PendingOperation = serde_json::from_value(saved).unwrap();
    let (outcome, _) = run(&limits(), &mut loaded, [Brings::Status(409)]).await;
    assert!(
        matches!(&outcome, Outcome::Unknown(unknown) if unknown.why() == Why::RefusedLater),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn silence_ends_with_the_budget_and_not_later() {
    let start = Instant::now();
    let mut limits = limits();
    limits.budget = SECOND * 25;
    // Without pauses: 10 s, 10 s, and the rest.
    limits.backoff = limits.backoff.with_min_delay(Duration::ZERO);
    let (outcome, asked) = run(&limits, &mut operation(), [const { Brings::Silence }; 3]).await;
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(start.elapsed().as_secs(), 25);
    assert_eq!((unknown.why(), unknown.may_be_done()), (Why::Budget, true));
    assert!(matches!(unknown.failure(), Some(Failure::Timeout)));
    assert!(asked.last().unwrap().2 <= SECOND * 5);
    // It can go on with what it was given back, and the key is the same.
    let mut operation = unknown.into_operation();
    let (outcome, again) = run(&limits, &mut operation, [Brings::Replay(201)]).await;
    assert!(matches!(outcome, Outcome::Done(_)));
    assert_eq!(again[0].1, asked[0].1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for() {
    let brings = [Brings::RetryAfter(503, "20"), Brings::Status(201)];
    let (_, asked) = run(&limits(), &mut operation(), brings).await;
    let pause = asked[1].0 - asked[0].0;
    assert!(pause >= SECOND * 20 && pause <= SECOND * 21, "{pause:?}");

    let said = r#"{"retryable":true,"retry_after":20}"#;
    let brings = [Brings::Problem(503, said), Brings::Status(201)];
    let (_, asked) = run(&limits(), &mut operation(), brings).await;
    assert!(asked[1].0 - asked[0].0 >= SECOND * 20);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_budget_does_not_cover_is_not_begun() {
    for value in [
        "60",
        "99999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let start = Instant::now();
        let brings = [Brings::RetryAfter(503, value)];
        let (outcome, _) = run(&limits(), &mut operation(), brings).await;
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(unknown.why(), Why::Budget);
        assert!(unknown.retry_after().unwrap() >= SECOND * 60);
    }
}

#[tokio::test(start_paused = true)]
async fn who_was_only_too_early_has_done_nothing() {
    let mut limits = limits();
    limits.backoff = limits.backoff.with_max_times(2);
    for (statuses, may_be_done) in [([425, 425, 425], false), ([425, 429, 425], true)] {
        let brings = statuses.map(Brings::Status);
        let (outcome, _) = run(&limits, &mut operation(), brings).await;
        let Outcome::Unknown(unknown) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(unknown.why(), Why::Budget);
        assert_eq!(unknown.may_be_done(), may_be_done, "{statuses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_that_the_server_may_have_forgotten() {
    let mut limits = limits();
    limits.retention = Some(Duration::from_millis(1));
    let mut old = operation();
    while old.created().elapsed().unwrap() < Duration::from_millis(2) {
        std::hint::spin_loop();
    }
    let (outcome, asked) = run(&limits, &mut old, []).await;
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((unknown.why(), asked.len()), (Why::RetentionOver, 0));
    assert!(!unknown.why().may_go_on());
}

/// The machine sleeps between two attempts: what the budget is counted by stands still.
#[tokio::test(start_paused = true)]
async fn the_age_is_looked_at_before_every_attempt() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut limits = limits();
    limits.retention = Some(DAY);
    limits.backoff = limits.backoff.with_min_delay(Duration::ZERO);
    let mut operation = operation();
    let script = Script {
        brings: Mutex::new([Brings::Status(503), Brings::Status(503)].into()),
        ..Script::default()
    };
    let made = operation.created();
    let clock = || match script.asked.lock().unwrap().len() {
        0 | 1 => made,
        _ => made + DAY,
    };
    let outcome = drive(&script, &limits, &mut operation, &clock);
    let Outcome::Unknown(unknown) = outcome.await.unwrap() else {
        panic!("it is too old");
    };
    assert_eq!((unknown.why(), unknown.attempts()), (Why::RetentionOver, 2));
    assert!(unknown.may_be_done());
    assert_eq!(unknown.answer().unwrap().status(), 503);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_by_a_clock_that_tells_no_age() {
    let mut limits = limits();
    limits.retention = Some(SECOND * 60);
    let mut operation = operation();
    let made = operation.created();
    let script = Script::default();
    let clock = || made - SECOND * 7;
    let outcome = drive(&script, &limits, &mut operation, &clock);
    let Outcome::Unknown(unknown) = outcome.await.unwrap() else {
        panic!("nobody knows");
    };
    assert_eq!((unknown.why(), unknown.attempts()), (Why::ClockBehind, 0));
    assert!(unknown.why().may_go_on() && !unknown.may_be_done());
    // Where nobody knows how long the server retains, there is nothing to be held to.
    limits.retention = None;
    script.brings.lock().unwrap().push_back(Brings::Status(201));
    let outcome = drive(&script, &limits, &mut operation, &clock).await;
    assert!(matches!(outcome, Ok(Outcome::Done(_))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_without_an_end_is_a_budget() {
    let mut limits = limits();
    limits.budget = Duration::MAX;
    limits.attempt_timeout = Duration::MAX;
    let brings = [Brings::Status(503), Brings::Status(201)];
    let (outcome, _) = run(&limits, &mut operation(), brings).await;
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn the_retention_cuts_the_budget() {
    let start = Instant::now();
    let mut limits = limits();
    limits.retention = Some(SECOND * 20);
    limits.backoff = limits.backoff.with_min_delay(Duration::ZERO);
    let (outcome, _) = run(&limits, &mut operation(), [const { Brings::Silence }; 2]).await;
    assert!(matches!(outcome, Outcome::Unknown(_)));
    assert!(start.elapsed() <= SECOND * 18, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_an_operation_that_may_have_arrived() {
    let script = Script {
        brings: Mutex::new([Brings::Silence].into()),
        ..Script::default()
    };
    let mut operation = operation();
    let limits = limits();
    let call = drive(&script, &limits, &mut operation, &SystemTime::now);
    assert!(tokio::time::timeout(SECOND, call).await.is_err());
    assert!(operation.may_have_arrived());
}
