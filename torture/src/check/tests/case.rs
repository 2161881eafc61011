//! A history made by hand with its tables, and how it is spoilt.

use std::sync::Arc;

use serde_json::json;

use super::super::{Kind, check};
use crate::backends::{Message, State, Tables};
use crate::history::{Answer, Arrival, Attempt, End, Record};
use crate::plan::{Manners, Operation, Queued, Settler, Variant};

pub(super) const SECOND: u64 = 1_000_000;

/// A history with its tables, to be spoilt.
pub(super) struct Case {
    pub(super) record: Record,
    pub(super) tables: Tables,
}

fn variant(label: &str, status: u16) -> Variant {
    Variant {
        script: json!({}),
        label: label.into(),
        status,
        body: Arc::from(format!("tenant-001 {label}")),
        effects: 2,
        is_atomic: true,
        has_effects_first: false,
        calls: 0,
        may_repeat_calls: false,
        messages: Vec::new(),
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
        settler: Settler::Nobody,
        is_driven: false,
        is_leased: false,
    }
}

/// One operation of two effects, answered by its handler, then from its record, and again when all was over.
pub(super) fn clean() -> Case {
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
pub(super) fn conflict() -> Case {
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
pub(super) fn calling() -> Case {
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

/// One effect and one call behind it, neither of them ever repeated.
pub(super) fn held() -> Case {
    let mut case = calling();
    case.change(|operation| {
        operation.settler = Settler::Operator;
        let asked = &mut operation.variants[0];
        (asked.calls, asked.may_repeat_calls) = (1, false);
        asked.has_effects_first = true;
    });
    case.tables.calls.clear();
    case.called("op", "charge", 1);
    case
}

/// One operation of two messages, of which one is in an order.
pub(super) fn sending() -> Case {
    let mut case = clean();
    case.change(|operation| {
        operation.variants[0].messages = queued("op", [None, Some("o")]);
    });
    case.sent("0a", 1, "op", 0);
    case.sent("0b", 2, "op", 1);
    case
}

/// Those of the request with this label.
pub(super) fn queued<const N: usize>(label: &str, orders: [Option<&str>; N]) -> Vec<Queued> {
    let numbered = orders.into_iter().enumerate();
    let queued = numbered.map(|(number, order)| Queued {
        payload: json!({ "label": label, "number": number }),
        order: order.map(String::from),
    });
    queued.collect()
}

/// The answer of a variant's handler, with a place for its number.
pub(super) fn own(variant: usize, is_replay: bool) -> (usize, Answer) {
    (variant, answer(201, None, "", is_replay))
}

pub(super) fn problem(status: u16, code: &str) -> Answer {
    answer(status, Some(code), "{}", false)
}

pub(super) fn answer(status: u16, code: Option<&str>, body: &str, is_replay: bool) -> Answer {
    Answer {
        status,
        code: code.map(String::from),
        is_replay,
        retry_after: None,
        run: Some("one".into()),
        headers: "content-length: 5".into(),
        body: Arc::from(body),
    }
}

impl Case {
    pub(super) fn add(&mut self, operation: Operation) {
        self.record.operations.push(Arc::new(operation));
    }

    pub(super) fn change(&mut self, change: impl FnOnce(&mut Operation)) {
        change(Arc::make_mut(&mut self.record.operations[0]));
    }

    pub(super) fn called(&mut self, label: &str, key: &str, count: u64) {
        let calls = self.tables.calls.entry(label.into()).or_default();
        calls.insert(key.into(), count);
    }

    /// Asked and answered within this second.
    pub(super) fn answered(&mut self, second: u64, answer: (usize, Answer)) {
        self.push(second, false, answer);
    }

    pub(super) fn afterwards(&mut self, variant: usize, (_, answer): (usize, Answer)) {
        self.push(100, true, (variant, answer));
    }

    pub(super) fn push(
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

    /// Asked within this second, and cut off.
    pub(super) fn lost(&mut self, second: u64) {
        self.answered(second, own(0, false));
        if let Some(attempt) = self.record.attempts.last_mut() {
            attempt.end = End::Lost("reset".into());
        }
    }

    /// It has a row, and has arrived.
    pub(super) fn sent(&mut self, id: &str, position: u64, label: &str, number: usize) {
        let state = State::Sent;
        let row = Message { position, state };
        self.tables.outbox.insert(id.into(), row);
        self.arrived(id, label, number);
    }

    pub(super) fn arrived(&mut self, id: &str, label: &str, number: usize) {
        let payload = json!({ "label": label, "number": number });
        self.record.arrivals.push(Arrival {
            id: id.into(),
            body: payload.to_string().into(),
            is_taken: true,
        });
    }

    /// Every answer is this one.
    pub(super) fn says(&mut self, answer: &Answer) {
        for attempt in 0..self.record.attempts.len() {
            *self.nth(attempt) = answer.clone();
        }
    }

    pub(super) fn nth(&mut self, attempt: usize) -> &mut Answer {
        match &mut self.record.attempts[attempt].end {
            End::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn found(&self) -> Vec<Kind> {
        let mut found: Vec<_> = check(&self.record, &self.tables)
            .iter()
            .map(|violation| violation.kind)
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[track_caller]
    pub(super) fn finds(&self, kinds: &[Kind]) {
        assert_eq!(self.found(), kinds);
    }
}
