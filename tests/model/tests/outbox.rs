//! The outbox: every state within the bounds, every defect, and the flaws that were found.

#![allow(missing_docs)]

mod common;

use common::{fails, has_its_defect};
use idem_model::defects::Defect;
use idem_model::outbox::{
    Budget, Flaws, IN_ORDER, Message, ONE_HOLDER, Operation, Outbox, PRUNED, REQUEUED, ROLLED_BACK,
    SKIPPED, WAITED,
};
use stateright::{Checker, Model};

const LOOSE: Message = Message {
    order: None,
    is_delayed: false,
};
/// In order with all others of this kind.
const O: Message = Message {
    order: Some(0),
    is_delayed: false,
};
/// In another order.
const P: Message = Message {
    order: Some(1),
    is_delayed: false,
};
/// In order, and not to be sent at once.
const LATER: Message = Message {
    order: Some(0),
    is_delayed: true,
};

/// Under a key of its own.
fn operation(key: u8, messages: &[Message]) -> Operation {
    Operation {
        key,
        has_steps: false,
        messages: messages.to_vec(),
    }
}

/// With so many faults, mishaps, pauses, requeues and prunings.
fn bounded(
    operations: &[Operation],
    [faults, mishaps, pauses, requeues, prunings]: [u8; 5],
) -> Outbox {
    Outbox {
        operations: operations.to_vec(),
        runs: 1,
        relays: 2,
        in_order: 3,
        has_snapshots: true,
        max_attempts: 2,
        budget: Budget {
            faults,
            mishaps,
            pauses,
            requeues,
            prunings,
        },
        flaws: Flaws::default(),
        defect: None,
    }
}

/// It holds, and all is seen that these bounds leave room for.
fn holds(bounds: &str, model: Outbox) {
    let is_ordered = |operation: &Operation| operation.messages[0].order.is_some();
    let has_steps = model.operations.iter().any(|one| one.has_steps);
    let has_room = [
        (REQUEUED, model.budget.requeues > 0),
        (PRUNED, model.budget.prunings > 0),
        (ROLLED_BACK, model.runs > 1),
        (SKIPPED, model.runs > 1 && has_steps),
        (
            WAITED,
            model.operations.len() > 1 && model.operations.iter().all(is_ordered),
        ),
    ];
    let unseen: Vec<_> = has_room
        .into_iter()
        .filter(|(_, has_room)| !has_room)
        .map(|(name, _)| name)
        .collect();
    common::holds(bounds, model, &unseen);
}

#[test]
fn two_messages_in_order() {
    let two = [operation(0, &[O, O])];
    holds("OO, a fault", bounded(&two, [1, 2, 1, 0, 0]));
    holds("OO, two pauses", bounded(&two, [0, 1, 2, 1, 1]));
    let mut model = bounded(&two, [1, 1, 1, 0, 0]);
    (model.relays, model.has_snapshots) = (3, false);
    holds("OO, three relays, SQLite", model);
}

#[test]
fn three_messages_in_order() {
    let three = [operation(0, &[O, O, O])];
    holds("OOO, no faults", bounded(&three, [0, 2, 1, 0, 0]));
    holds("OOO, a fault", bounded(&three, [1, 1, 1, 0, 0]));
    let mut model = bounded(&three, [0, 1, 1, 1, 0]);
    model.in_order = 2;
    holds("OOO, taken by two", model);
    let later = [operation(0, &[O, LATER, O])];
    holds("OlO, no faults", bounded(&later, [0, 1, 1, 0, 0]));
}

#[test]
fn two_operations_and_one_order() {
    let mut model = bounded(&[operation(0, &[O]), operation(1, &[O])], [0, 1, 1, 1, 0]);
    model.runs = 2;
    holds("O and O, no faults", model);
    let mut model = bounded(&[operation(0, &[O]), operation(1, &[O])], [1, 0, 1, 0, 0]);
    model.runs = 2;
    common::holds(
        "O and O, a fault",
        model,
        &[REQUEUED, PRUNED, SKIPPED, idem_model::outbox::DEAD],
    );
    let again = [operation(0, &[O]), operation(0, &[O])];
    holds("O and O under one key", bounded(&again, [0, 1, 1, 0, 1]));
}

#[test]
fn steps() {
    let mut steps = operation(0, &[O, O]);
    steps.has_steps = true;
    let mut model = bounded(&[steps.clone()], [1, 1, 1, 0, 0]);
    model.runs = 2;
    holds("OO in two steps, a fault", model);
    let mut model = bounded(&[steps, operation(1, &[O])], [0, 1, 1, 0, 0]);
    (model.runs, model.has_snapshots) = (2, false);
    holds("OO in two steps, and O, SQLite", model);
}

#[test]
fn no_order_and_another_order() {
    let two = [operation(0, &[LOOSE]), operation(1, &[LOOSE])];
    holds("two in no order", bounded(&two, [0, 1, 1, 1, 1]));
    for (bounds, other) in [
        ("OP, a fault", P),
        ("O and one in no order, a fault", LOOSE),
    ] {
        let model = bounded(&[operation(0, &[O, other])], [1, 1, 1, 0, 0]);
        holds(bounds, model);
    }
}

/// Each with the smallest world that shows it.
fn broken(defect: Defect) -> Outbox {
    let one = |messages: &[Message]| vec![operation(0, messages)];
    let two = || vec![operation(0, &[O]), operation(1, &[O])];
    let (operations, budget) = match defect {
        Defect::QueuedByItself => (one(&[O]), [0, 1, 0, 0, 0]),
        Defect::FailureTakenForSent | Defect::IdOfThePublishing => (one(&[O]), [0, 1, 0, 0, 0]),
        Defect::ConflictTakenForDone | Defect::IdNotUnique => (
            vec![operation(0, &[O]), operation(0, &[O])],
            [0, 0, 0, 0, 0],
        ),
        Defect::PrunerDeletesUnsent | Defect::PrunerDeletesDead => (one(&[O]), [0, 1, 0, 0, 1]),
        Defect::PlaceInTheRun => (one(&[O, O]), [0, 1, 0, 0, 0]),
        Defect::DeadHoldsUp | Defect::GoesOnBehindFailure => (one(&[O, O]), [0, 1, 0, 0, 0]),
        Defect::ClosedIsPassedBy => (one(&[O, LATER, O]), [0, 0, 0, 0, 0]),
        Defect::RequeuedUnlocked => (two(), [0, 1, 0, 1, 0]),
        Defect::TokenOfTheRelay => (one(&[O]), [1, 1, 0, 0, 0]),
        Defect::MarkedUnproved | Defect::ClaimsNeverRunOut => (one(&[O]), [1, 0, 1, 0, 0]),
        _ => (two(), [0, 0, 0, 0, 0]),
    };
    let mut model = bounded(&operations, budget);
    if defect == Defect::PlaceInTheRun {
        model.operations[0].has_steps = true;
        model.runs = 2;
    }
    model.defect = Some(defect);
    model
}

/// It fails, and not without what is broken.
fn fails_by(broken: &str, model: Outbox, property: &'static str) {
    let mut whole = model.clone();
    (whole.defect, whole.flaws) = (None, Flaws::default());
    let checker = whole.checker().spawn_bfs().join();
    assert!(checker.discovery(property).is_none(), "{broken}");
    fails(broken, model, property);
}

#[test]
fn every_defect_is_caught() {
    for &defect in Defect::OUTBOX {
        fails_by(&format!("{defect:?}"), broken(defect), defect.caught_by());
    }
}

#[test]
fn every_property_has_its_defect() {
    has_its_defect(bounded(&[], [0; 5]), Defect::OUTBOX);
}

/// See the crate's documentation.
#[test]
fn flaw_what_a_late_relay_puts_off_is_passed_by_while_it_is_taken() {
    let mut model = bounded(&[operation(0, &[O, O, O])], [0, 1, 1, 0, 0]);
    model.flaws.take_leaves_gaps = true;
    fails_by("take leaves gaps", model, IN_ORDER);
}

#[test]
fn flaw_a_requeued_message_is_taken_beside_what_is_in_hand() {
    let mut model = bounded(&[operation(0, &[O, O])], [0, 1, 0, 1, 0]);
    model.flaws.requeued_in_front = true;
    fails_by("requeued in front", model, ONE_HOLDER);
}
