//! Lease mode: every state within the bounds, every defect, and the flaws that were found.

#![allow(missing_docs)]

mod common;

use common::{fails, has_its_defect, holds};
use idem_model::defects::Defect;
use idem_model::lease::{EQUAL_ANSWERS, Flaws, Lease, ONE_KEY_ONE_BODY, Rule, SEEN};

const A: u8 = 0;
/// Another body under the same key.
const B: u8 = 1;

/// With so many faults, mishaps and verdicts.
fn bounded(attempts: &[u8], rule: Rule, [faults, mishaps, verdicts]: [u8; 3]) -> Lease {
    Lease {
        attempts: attempts.to_vec(),
        rule,
        length: 1,
        retain: 9,
        ticks: 2,
        faults,
        mishaps,
        verdicts,
        flaws: Flaws::default(),
        defect: None,
    }
}

#[test]
fn one_request_twice() {
    for rule in [Rule::Hold, Rule::Rerun] {
        let model = bounded(&[A, A], rule, [1, 1, 1]);
        holds(&format!("AA, {rule:?}"), model, &[]);
    }
}

#[test]
fn one_request_three_times() {
    for (bounds, rule, budget) in [
        ("AAA, Hold, no faults", Rule::Hold, [0, 1, 1]),
        ("AAA, Rerun, a mishap", Rule::Rerun, [0, 1, 0]),
        ("AAA, Rerun, a verdict", Rule::Rerun, [0, 0, 1]),
    ] {
        holds(bounds, bounded(&[A, A, A], rule, budget), &[]);
    }
}

#[test]
fn two_bodies_under_one_key() {
    for rule in [Rule::Hold, Rule::Rerun] {
        let model = bounded(&[A, A, B], rule, [0, 2, 1]);
        holds(&format!("AAB, {rule:?}, no faults"), model, &[]);
        // Nobody is there to replay anything.
        let model = bounded(&[A, B], rule, [1, 1, 1]);
        holds(&format!("AB, {rule:?}"), model, &[SEEN[1]]);
    }
}

#[test]
fn records_expire() {
    for rule in [Rule::Hold, Rule::Rerun] {
        let mut model = bounded(&[A, A, A], rule, [0, 0, 1]);
        model.retain = 1;
        holds(&format!("AAA, {rule:?}, records expire"), model, &[]);
    }
}

#[test]
fn every_defect_is_caught() {
    for &defect in Defect::LEASE {
        let rule = match defect {
            Defect::StaleTakenForFree | Defect::ReleasedSticks | Defect::PrunerDeletesPending => {
                Rule::Hold
            }
            _ => Rule::Rerun,
        };
        let attempts = match defect {
            Defect::ForgottenThoughCalled => [A, A, B],
            _ => [A, A, A],
        };
        let faults = u8::from(defect == Defect::DoubtTakenForDone);
        let mut model = bounded(&attempts, rule, [faults, 2, 1]);
        model.defect = Some(defect);
        fails(&format!("{defect:?}"), model, defect.caught_by());
    }
}

#[test]
fn every_property_has_its_defect() {
    has_its_defect(bounded(&[A], Rule::Hold, [0; 3]), Defect::LEASE);
}

/// Mended in the code: see the crate's documentation.
#[test]
fn flaw_a_release_frees_the_key_for_another_body_while_a_late_owner_may_call() {
    let mut model = bounded(&[A, B], Rule::Hold, [0, 0, 1]);
    model.flaws.release_deletes = true;
    fails("a release deletes the row", model, ONE_KEY_ONE_BODY);
}

/// Mended in the code: see the crate's documentation.
#[test]
fn flaw_the_claim_of_another_body_is_taken_over() {
    for property in [ONE_KEY_ONE_BODY, EQUAL_ANSWERS] {
        let mut model = bounded(&[A, A, B, B], Rule::Rerun, [0, 2, 0]);
        model.ticks = 1;
        model.flaws.state_without_print = true;
        fails("the fingerprint is not compared again", model, property);
    }
}
