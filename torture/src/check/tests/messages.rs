//! Messages in histories made by hand.

use super::super::Kind;
use super::case::{Case, SECOND, clean, own, queued, sending};
use crate::backends::State;

/// Two operations one after the other, each with one message of the same order.
fn two_in_order() -> Case {
    let mut case = sending();
    let mut other = (*case.record.operations[0]).clone();
    other.id = "other".into();
    other.variants[0].label = "other".into();
    other.variants[0].messages = queued("other", [Some("o")]);
    case.add(other);
    case.tables.effects.insert("other".into(), 2);
    case.answered(3, own(0, false));
    case.afterwards(0, own(0, true));
    case.sent("0c", 3, "other", 0);
    case
}

#[test]
fn each_message_arrives() {
    sending().finds(&[]);
    // Again, also after others.
    let mut case = sending();
    case.arrived("0a", "op", 0);
    case.arrived("0b", "op", 1);
    case.finds(&[]);
}

#[test]
fn one_that_does_not_arrive() {
    let mut case = sending();
    case.record.arrivals.remove(0);
    case.finds(&[Kind::Undelivered]);
    // Its row is gone as well.
    case.tables.outbox.remove("0a");
    case.finds(&[Kind::Undelivered]);
}

#[test]
fn one_that_was_refused_has_not_arrived() {
    let mut case = sending();
    case.record.arrivals[0].is_taken = false;
    case.finds(&[Kind::Undelivered]);
    case.arrived("0a", "op", 0);
    case.finds(&[]);
}

#[test]
fn one_that_waits_and_one_that_was_given_up() {
    let mut case = sending();
    case.tables.outbox.get_mut("0a").unwrap().state = State::Waiting;
    case.finds(&[Kind::Undelivered]);
    case.tables.outbox.get_mut("0a").unwrap().state = State::Dead;
    case.finds(&[Kind::GivenUp]);
}

#[test]
fn one_of_what_was_rolled_back() {
    let mut case = sending();
    case.change(|operation| {
        operation.variants[0].status = 402;
        operation.variants[0].effects = 0;
    });
    for attempt in 0..3 {
        case.nth(attempt).status = 402;
    }
    case.tables.effects.clear();
    case.finds(&[Kind::Unfounded]);
    case.record.arrivals.clear();
    case.tables.outbox.clear();
    case.finds(&[]);
}

#[test]
fn one_that_no_row_tells_of() {
    let mut case = sending();
    case.tables.outbox.remove("0a");
    case.finds(&[Kind::Unfounded]);
}

#[test]
fn one_message_under_two_ids() {
    let mut case = sending();
    case.sent("0c", 3, "op", 0);
    case.finds(&[Kind::Unfounded]);
    // A second run, once the first one's record is forgotten, has messages of its own.
    case.sent("0d", 4, "op", 1);
    case.change(|operation| operation.window = SECOND);
    case.tables.effects.insert("op".into(), 4);
    case.finds(&[]);
}

#[test]
fn other_contents() {
    let mut case = sending();
    case.arrived("0a", "op", 1);
    case.finds(&[Kind::Garbled]);
    let mut case = sending();
    let body = r#"{"label": "op", "number": 0}"#;
    case.record.arrivals[0].body = body.into();
    case.finds(&[]);
    case.arrived("0a", "op", 0);
    case.finds(&[Kind::Garbled]);
    for (label, number) in [("op", 2), ("nobody", 0)] {
        let mut case = sending();
        case.arrived("0c", label, number);
        case.finds(&[Kind::Garbled]);
    }
    let mut case = sending();
    case.arrived("0c", "op", 0);
    case.record.arrivals[2].body = "no JSON".into();
    case.finds(&[Kind::Garbled]);
}

#[test]
fn one_for_each_step_that_was_done() {
    let mut case = sending();
    case.change(|operation| operation.variants[0].is_atomic = false);
    case.finds(&[]);
    // Either of them, where one was done and nobody was told of success.
    case.tables.effects.insert("op".into(), 1);
    case.record.attempts.clear();
    case.afterwards(0, (0, super::problem(503, "idempotency-store-unavailable")));
    case.finds(&[Kind::Unfounded, Kind::Stuck]);
    for id in ["0a", "0b"] {
        let mut case = clean_step(&case, id);
        case.finds(&[Kind::Stuck]);
        case.tables.effects.insert("op".into(), 2);
        case.finds(&[Kind::Undelivered, Kind::Stuck]);
    }
}

/// The same without this message.
fn clean_step(case: &Case, id: &str) -> Case {
    let mut other = Case {
        record: case.record.clone(),
        tables: case.tables.clone(),
    };
    other.record.arrivals.retain(|arrival| arrival.id != id);
    other.tables.outbox.remove(id);
    other
}

#[test]
fn in_the_order_of_the_commits() {
    two_in_order().finds(&[]);
    let mut case = two_in_order();
    case.record.arrivals.swap(1, 2);
    case.finds(&[Kind::Overtaken]);
    // The other one is in no order.
    let mut case = two_in_order();
    case.record.arrivals.swap(0, 2);
    case.finds(&[Kind::Overtaken]);
    case.record.arrivals.swap(0, 1);
    case.finds(&[]);
}

#[test]
fn what_was_refused_has_not_come_before_others() {
    let mut case = two_in_order();
    case.record.arrivals[1].is_taken = false;
    case.arrived("0b", "op", 1);
    case.finds(&[Kind::Overtaken]);
}

/// The positions agree with what came, and still it cannot have been so.
#[test]
fn in_the_order_that_clients_know_of() {
    let mut case = two_in_order();
    case.record.arrivals.swap(1, 2);
    for (id, position) in [("0b", 3), ("0c", 2)] {
        case.tables.outbox.get_mut(id).unwrap().position = position;
    }
    case.finds(&[Kind::Overtaken]);
    // Both at once: either may have been first.
    for attempt in &mut case.record.attempts {
        attempt.started = 0;
    }
    case.finds(&[]);
}

#[test]
fn no_messages_where_none_are_queued() {
    let mut case = clean();
    case.change(|operation| operation.variants[0].is_atomic = false);
    case.finds(&[]);
}
