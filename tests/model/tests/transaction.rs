//! Transaction mode: every state within the bounds, and every defect.

#![allow(missing_docs)]

mod common;

use common::{fails, has_its_defect, holds};
use idem_model::defects::Defect;
use idem_model::transaction::{Isolation, Operation, Transaction};

const A: Operation = Operation::new(0, 0);
/// Another body under the same key.
const B: Operation = Operation::new(0, 1);
/// The same body under another key.
const C: Operation = Operation::new(1, 0);

fn bounded(attempts: &[Operation], isolation: Isolation) -> Transaction {
    Transaction {
        attempts: attempts.to_vec(),
        isolation,
        retain: 1,
        ticks: 2,
        faults: 1,
        refusals: true,
        defect: None,
    }
}

#[test]
fn one_request_three_times() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let bounds = format!("AAA, {isolation:?}");
        holds(&bounds, bounded(&[A, A, A], isolation), &[]);
    }
}

#[test]
fn two_bodies_under_one_key() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let bounds = format!("AAB, {isolation:?}");
        holds(&bounds, bounded(&[A, A, B], isolation), &[]);
    }
}

#[test]
fn two_tenants_and_two_keys() {
    for (bounds, other) in [("AA of another tenant", A.of(1)), ("AAC", C)] {
        holds(
            bounds,
            bounded(&[A, A, other], Isolation::ReadCommitted),
            &[],
        );
    }
}

#[test]
fn many_faults() {
    let mut model = bounded(&[A, A, B], Isolation::ReadCommitted);
    (model.faults, model.ticks) = (3, 1);
    holds("AAB, three faults", model, &[]);
}

#[test]
fn four_attempts() {
    let mut model = bounded(&[A, A, A, B], Isolation::ReadCommitted);
    (model.faults, model.ticks, model.refusals) = (1, 1, false);
    holds("AAAB, no refusals, one tick", model, &[]);
}

#[test]
fn every_defect_is_caught() {
    for &defect in Defect::TRANSACTION {
        let mut model = bounded(&[A, A, B, A.of(1)], Isolation::ReadCommitted);
        model.defect = Some(defect);
        fails(&format!("{defect:?}"), model, defect.caught_by());
    }
}

#[test]
fn every_property_has_its_defect() {
    has_its_defect(bounded(&[A], Isolation::ReadCommitted), Defect::TRANSACTION);
}
