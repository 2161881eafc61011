//! Histories made by hand: each kind of violation is found where it is, and nothing where it is not.

mod case;
mod messages;

use std::sync::Arc;

use super::{Kind, logs};
use crate::history::Shift;
use crate::plan::Settler;
use case::{Case, SECOND, answer, calling, clean, conflict, held, own, problem};

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

/// Found by an hour of torture: the application was stopped, its database connection cut, and another one answered.
#[test]
fn in_flight_where_it_was_stopped() {
    let mut case = clean();
    case.answered(3, (0, problem(409, "idempotency-in-flight")));
    case.lost(0);
    case.finds(&[]);
    let last = case.record.attempts.len() - 1;
    case.record.attempts[last].app = 1;
    case.finds(&[Kind::Forgotten]);
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
        case.change(|operation| operation.settler = Settler::Operator);
        case.finds(&[]);
    }
    // The operator is not asked about what is run again.
    let mut case = clean();
    case.change(|operation| operation.settler = Settler::Reconciler);
    case.says(&answer(201, None, "settled for tenant-001", true));
    case.finds(&[Kind::WrongAnswer]);
}

#[test]
fn once_whoever_says_how_it_ended() {
    let reconciled = answer(201, None, "reconciled", true);
    let settled = answer(201, None, "settled for tenant-001", true);
    held().finds(&[]);
    for word in [None, Some(&reconciled), Some(&settled)] {
        let said = || {
            let mut case = held();
            if let Some(word) = word {
                case.says(word);
            }
            case
        };
        said().finds(&[]);
        let mut case = said();
        case.tables.effects.insert("op".into(), 2);
        case.finds(&[Kind::Doubled]);
        let mut case = said();
        case.called("op", "charge", 2);
        case.finds(&[Kind::Calls]);
        let mut case = said();
        case.called("op", "another", 1);
        // The reconciler has seen more than there can be, too.
        assert!(case.found().contains(&Kind::Calls));
    }
}

#[test]
fn who_says_that_it_has_happened_has_seen_it() {
    // The effect is there and the call is not.
    let mut case = held();
    case.tables.calls.clear();
    case.finds(&[Kind::Calls]);
    case.says(&answer(201, None, "reconciled", true));
    case.finds(&[Kind::Lost]);
    case.says(&answer(201, None, "settled for tenant-001", true));
    case.finds(&[]);
    case.tables.effects.clear();
    case.finds(&[Kind::Lost]);
}

#[test]
fn a_call_without_the_effects_before_it() {
    let mut case = held();
    case.says(&answer(201, None, "reconciled", true));
    case.tables.effects.clear();
    case.finds(&[Kind::Torn]);
}

#[test]
fn more_calls_than_requests() {
    let mut case = calling();
    case.called("op", "notify", 4);
    case.finds(&[Kind::Calls]);
    // A worker may have made them.
    case.change(|operation| operation.is_driven = true);
    case.finds(&[]);
}

#[test]
fn equal_words_of_two_runs() {
    let mut case = clean();
    case.nth(1).run = Some("another".into());
    case.finds(&[Kind::TwoRuns]);
    let mut case = clean();
    case.nth(2).run = None;
    case.finds(&[Kind::WrongAnswer]);
}

#[test]
fn something_of_a_client_in_a_log() {
    for line in [
        "not claimed: DETAIL: Key (key)=(key-17) already exists",
        "rollback failed, scope=account:tenant-003",
        "the body was {\"account\":1234567890123456789012}",
    ] {
        let found = logs::check(0, &format!("fine\n{line}\nfine"));
        assert!(
            matches!(&found[..], [one] if one.kind == Kind::Logged),
            "{line}"
        );
    }
    let found = logs::check(0, "thread panicked at idem-runtime/src/run.rs:1:1");
    assert!(matches!(&found[..], [one] if one.kind == Kind::Panicked));
    let fine = "killed at StartQuery { binds: [key-17] }\npanicked at tests/src/bin/idem-testapp/play.rs:9:9\nidempotency-key-reused, a tenant-less key-";
    assert!(logs::check(0, fine).is_empty());
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
    for attempt in 1..3 {
        case.nth(attempt).run = Some("two".into());
    }
    case
}

#[test]
fn once_per_window() {
    twice(4).finds(&[]);
    twice(2).finds(&[Kind::RanAgain, Kind::TwoRuns]);
    // The first run's words come back after the second's.
    let mut case = twice(4);
    case.nth(2).run = Some("one".into());
    case.finds(&[Kind::TwoRuns]);
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
