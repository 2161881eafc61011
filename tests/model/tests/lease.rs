//! Lease mode, checked.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::time::Instant;

use idem_model::lease::{Lease, Rule};
use stateright::{Checker, Model};

fn model(attempts: &[u8], rule: Rule) -> Lease {
    Lease {
        attempts: attempts.to_vec(),
        rule,
        length: 1,
        retain: 9,
        ticks: 2,
        faults: 1,
        mishaps: 1,
        verdicts: 1,
        defect: None,
    }
}

fn check(name: &str, model: Lease) {
    let began = Instant::now();
    let checker = model.checker().threads(2).spawn_bfs().join();
    let took = began.elapsed();
    println!(
        "{name}: {} states, depth {}, {took:.1?}",
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

#[test]
fn hold_aa() {
    check("hold AA", model(&[0, 0], Rule::Hold));
}
#[test]
fn rerun_aa() {
    check("rerun AA", model(&[0, 0], Rule::Rerun));
}
#[test]
fn hold_ab() {
    check("hold AB", model(&[0, 1], Rule::Hold));
}
