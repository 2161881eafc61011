//! Histories made by hand: each kind of violation is found where it is, and nothing where it is not.

use std::sync::Arc;

use serde_json::json;

use super::{Kind, check};
use crate::backends::Tables;
use crate::history::{Answer, Attempt, End, Record, Shift};
use crate::plan::{Manners, Operation, Variant};

const SECOND: u64 = 1_000_000;

/// A history with its tables, to be spoilt.
struct Case {
    record: Record,
    tables: Tables,
}

fn variant(label: &str, status: u16) -> Variant {
    Variant {
        script: json!({}),
        label: label.into(),
        status,
        body: Arc::from(format!("tenant-001 {label}")),
        effects: 2,
        is_atomic: true,
        calls: 0,
        may_repeat_calls: false,
    }
}

fn operation(id: &str, variants: Vec<Variant>) -> Operation {
    Operation {
        id: id.into(),
        workload: "hand-made",
        tenant: "tenant-001".into(),
        key: "key".into(),
        path: "/",
        variants,
        manners: Manners::default(),
        window: 24 * 3_600 * SECOND,
        is_settled: false,
    }
}

/// One operation of two effects, answered by its handler, then from its record, and again when all was over.
fn clean() -> Case {
    let mut case = Case {
        record: Record::default(),
        tables: Tables::default(),
    };
    case.add(operation("op", vec![variant("op", 201)]));
    case.tables.effects.insert("op".into(), 2);
    case.answered(1, own(0, false));
    case.answered(2, own(0, true));
    case.afterwards(0, own(0, true));
    case
}

/// Two requests under one key, of which the first won.
fn conflict() -> Case {
    let mut case = Case {
        record: Record::default(),
        tables: Tables::default(),
    };
    case.add(operation(
        "op",
        vec![variant("op-a", 201), variant("op-b", 201)],
    ));
    case.tables.effects.insert("op-a".into(), 2);
    case.answered(1, own(0, false));
    case.afterwards(0, own(0, true));
    case.afterwards(1, (1, problem(422, "idempotency-key-reused")));
    case
}

/// One operation of two calls in steps.
fn calling() -> Case {
    let mut case = clean();
    case.change(|operation| {
        let asked = &mut operation.variants[0];
        (asked.effects, asked.is_atomic) = (1, false);
        (asked.calls, asked.may_repeat_calls) = (2, true);
    });
    case.tables.effects.insert("op".into(), 1);
    case.called("op", "charge", 1);
    case.called("op", "notify", 3);
    case
}

/// The answer of a variant's handler, with a place for its number.
fn own(variant: usize, is_replay: bool) -> (usize, Answer) {
    (variant, answer(201, None, "", is_replay))
}

fn problem(status: u16, code: &str) -> Answer {
    answer(status, Some(code), "{}", false)
}

fn answer(status: u16, code: Option<&str>, body: &str, is_replay: bool) -> Answer {
    Answer {
        status,
        code: code.map(String::from),
        is_replay,
        retry_after: None,
        headers: "content-length: 5".into(),
        body: Arc::from(body),
    }
}

impl Case {
    fn add(&mut self, operation: Operation) {
        self.record.operations.push(Arc::new(operation));
    }

    fn change(&mut self, change: impl FnOnce(&mut Operation)) {
        change(Arc::make_mut(&mut self.record.operations[0]));
    }

    fn called(&mut self, label: &str, key: &str, count: u64) {
        let calls = self.tables.calls.entry(label.into()).or_default();
        calls.insert(key.into(), count);
    }

    /// Asked and answered within this second.
    fn answered(&mut self, second: u64, answer: (usize, Answer)) {
        self.push(second, false, answer);
    }

    fn afterwards(&mut self, variant: usize, (_, answer): (usize, Answer)) {
        self.push(100, true, (variant, answer));
    }

    fn push(
        &mut self,
        second: u64,
        is_after_the_harm: bool,
        (variant, mut answer): (usize, Answer),
    ) {
        let place = self.record.operations.len() - 1;
        if answer.body.is_empty() {
            answer.body = Arc::clone(&self.record.operations[place].variants[variant].body);
        }
        self.record.attempts.push(Attempt {
            operation: place,
            variant,
            app: 0,
            is_after_the_harm,
            started: second * SECOND,
            ended: second * SECOND + SECOND / 2,
            end: End::Answer(answer),
        });
    }

    fn nth(&mut self, attempt: usize) -> &mut Answer {
        match &mut self.record.attempts[attempt].end {
            End::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn finds(&self, kinds: &[Kind]) {
        let mut found: Vec<_> = check(&self.record, &self.tables)
            .iter()
            .map(|violation| violation.kind)
            .collect();
        found.sort();
        found.dedup();
        assert_eq!(found, kinds);
    }
}

#[test]
fn nothing_where_nothing_is() {
    clean().finds(&[]);
    conflict().finds(&[]);
    calling().finds(&[]);
    let mut case = clean();
    case.answered(3, (0, problem(503, "idempotency-store-unavailable")));
    case.finds(&[]);
    // In flight while nobody has an answer yet.
    let mut case = clean();
    case.answered(0, (0, problem(409, "idempotency-in-flight")));
    case.finds(&[]);
}

#[test]
fn more_effects_than_one_run_has() {
    let mut case = clean();
    case.tables.effects.insert("op".into(), 4);
    case.finds(&[Kind::Doubled]);
}

#[test]
fn success_without_its_effects() {
    let mut case = clean();
    case.tables.effects.clear();
    case.finds(&[Kind::Lost]);
    case.tables.effects.insert("op".into(), 1);
    case.finds(&[Kind::Lost]);
}

#[test]
fn half_a_transaction() {
    let mut case = clean();
    case.tables.effects.insert("op".into(), 1);
    for attempt in 0..3 {
        *case.nth(attempt) = problem(503, "idempotency-store-unavailable");
    }
    case.finds(&[Kind::Torn, Kind::Stuck]);
}

#[test]
fn effects_of_what_was_refused() {
    let mut case = clean();
    case.change(|operation| {
        operation.variants[0].status = 402;
        operation.variants[0].effects = 0;
    });
    for attempt in 0..3 {
        case.nth(attempt).status = 402;
    }
    case.finds(&[Kind::Torn]);
    case.tables.effects.clear();
    case.finds(&[]);
}

#[test]
fn a_second_run() {
    let mut case = clean();
    case.nth(1).is_replay = false;
    case.finds(&[Kind::RanAgain]);
    // It failed, but it ran.
    let mut case = clean();
    case.answered(3, (0, answer(500, None, "failed", false)));
    case.finds(&[Kind::RanAgain]);
}

#[test]
fn in_flight_again() {
    for code in ["idempotency-in-flight", "idempotency-unresolved"] {
        let mut case = clean();
        case.answered(3, (0, problem(409, code)));
        case.finds(&[Kind::Forgotten]);
    }
}

#[test]
fn answers_that_differ() {
    let mut case = clean();
    case.nth(2).headers = "content-length: 6".into();
    case.finds(&[Kind::Differs]);
    // One white space.
    let mut case = clean();
    case.nth(2).body = Arc::from("tenant-001  op");
    case.finds(&[Kind::Differs, Kind::WrongAnswer]);
}

#[test]
fn an_answer_of_nobody() {
    let mut case = clean();
    for attempt in 0..3 {
        case.nth(attempt).body = Arc::from("tenant-001 other");
    }
    case.finds(&[Kind::WrongAnswer]);
    let mut case = clean();
    case.answered(3, (0, problem(500, "idempotency-misconfigured")));
    case.answered(3, (0, answer(401, None, "who are you?", false)));
    case.finds(&[Kind::Unexpected]);
}

#[test]
fn a_word_of_who_was_asked() {
    for words in ["reconciled", "settled for tenant-001"] {
        let mut case = clean();
        for attempt in 0..3 {
            *case.nth(attempt) = answer(201, None, words, true);
        }
        case.finds(&[Kind::WrongAnswer]);
        case.change(|operation| operation.is_settled = true);
        case.finds(&[]);
    }
}

#[test]
fn bytes_of_another_tenant() {
    let mut case = clean();
    case.nth(1).body = Arc::from("tenant-002 op");
    case.finds(&[Kind::Differs, Kind::ForeignTenant]);
    let mut case = clean();
    case.nth(0).headers += "\nx-tenant: tenant-011";
    case.finds(&[Kind::Differs, Kind::ForeignTenant]);
}

#[test]
fn the_same_request_taken_for_another() {
    let mut case = clean();
    case.answered(3, (0, problem(422, "idempotency-key-reused")));
    case.finds(&[Kind::FalseMismatch]);
    let mut case = conflict();
    case.answered(3, (0, problem(422, "idempotency-key-reused")));
    case.finds(&[Kind::FalseMismatch]);
}

#[test]
fn two_winners_under_one_key() {
    let mut case = conflict();
    case.tables.effects.insert("op-b".into(), 2);
    case.finds(&[Kind::TwoWinners]);
    // The other one was answered, with its own words or with the winner's.
    let mut case = conflict();
    case.answered(3, own(1, true));
    case.finds(&[
        Kind::Lost,
        Kind::Differs,
        Kind::FalseMismatch,
        Kind::TwoWinners,
    ]);
    let mut case = conflict();
    case.answered(3, (1, answer(201, None, "tenant-001 op-a", true)));
    case.finds(&[
        Kind::Lost,
        Kind::WrongAnswer,
        Kind::FalseMismatch,
        Kind::TwoWinners,
    ]);
}

#[test]
fn a_key_that_nobody_has() {
    let mut case = conflict();
    case.record.attempts.truncate(0);
    case.tables.effects.clear();
    for variant in 0..2 {
        case.afterwards(variant, (variant, problem(422, "idempotency-key-reused")));
    }
    case.finds(&[Kind::Stuck]);
}

#[test]
fn calls_too_many_and_too_few() {
    let mut case = calling();
    case.called("op", "another", 1);
    case.finds(&[Kind::Calls]);
    let mut case = calling();
    case.tables.calls.clear();
    case.called("op", "charge", 2);
    case.finds(&[Kind::Calls]);
    let mut case = calling();
    case.change(|operation| operation.variants[0].may_repeat_calls = false);
    case.finds(&[Kind::Calls]);
}

#[test]
fn one_derived_key_for_two_operations() {
    let mut case = calling();
    let mut other = (*case.record.operations[0]).clone();
    other.id = "other".into();
    other.variants[0].label = "other".into();
    case.add(other);
    case.tables.effects.insert("other".into(), 1);
    case.called("other", "charge", 1);
    case.called("other", "its own", 1);
    case.answered(1, own(0, false));
    case.afterwards(0, own(0, true));
    case.finds(&[Kind::SharedKey]);
}

#[test]
fn what_is_left() {
    let mut case = clean();
    case.record.attempts.pop();
    case.finds(&[Kind::Stuck]);
    let mut case = clean();
    case.tables.pending.push("account:tenant-001 key".into());
    case.finds(&[Kind::Pending]);
    let mut case = clean();
    case.tables.open.push("advisory lock of 1".into());
    case.finds(&[Kind::LeftOpen]);
}

/// Run at second 1, asked again at that second and answered by the handler, and so two times four effects.
fn twice(second: u64) -> Case {
    let mut case = clean();
    case.change(|operation| operation.window = 2 * SECOND);
    case.record.attempts.clear();
    case.tables.effects.insert("op".into(), 4);
    case.answered(1, own(0, false));
    case.answered(second, own(0, false));
    case.push(second + 1, true, own(0, true));
    case
}

#[test]
fn once_per_window() {
    twice(4).finds(&[]);
    twice(2).finds(&[Kind::RanAgain]);
    let mut case = twice(4);
    case.tables.effects.insert("op".into(), 2);
    case.finds(&[Kind::Lost]);
    case.tables.effects.insert("op".into(), 8);
    case.finds(&[Kind::Doubled]);
}

#[test]
fn a_clock_that_is_set_forward_ends_a_window() {
    let mut case = twice(2);
    case.record.shifts.push(Shift {
        started: SECOND + SECOND / 2,
        ended: SECOND + SECOND / 2,
        by: SECOND,
    });
    case.finds(&[]);
}
