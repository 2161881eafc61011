//! Transaction mode, checked.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::time::Instant;

use idem_model::defects::Defect;
use idem_model::transaction::{Isolation, Operation, Transaction};
use stateright::{Checker, HasDiscoveries, Model};

fn a() -> Operation {
    Operation::new(0, 0)
}

fn b() -> Operation {
    Operation::new(0, 1)
}

fn model(attempts: &[Operation]) -> Transaction {
    Transaction {
        attempts: attempts.to_vec(),
        isolation: Isolation::ReadCommitted,
        retain: 1,
        ticks: 2,
        faults: 1,
        refusals: true,
        defect: None,
    }
}

fn check(name: &str, model: Transaction) {
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
fn three() {
    check("AAA", model(&[a(), a(), a()]));
}

#[test]
fn aab() {
    check("AAB", model(&[a(), a(), b()]));
}

#[test]
fn scopes() {
    check("A A'", model(&[a(), a().of(1), a()]));
}

#[test]
fn repeatable_read() {
    let mut model = model(&[a(), a(), b()]);
    model.isolation = Isolation::RepeatableRead;
    check("RR AAB", model);
}

#[test]
fn defects() {
    for &defect in Defect::TRANSACTION {
        let mut model = model(&[a(), a(), b(), a().of(1)]);
        model.defect = Some(defect);
        let named = defect.caught_by();
        let checker = model
            .checker()
            .finish_when(HasDiscoveries::AllOf([named].into()))
            .spawn_bfs()
            .join();
        let found: Vec<_> = checker.discoveries().into_keys().collect();
        println!(
            "{defect:?}: {} states, {found:?}",
            checker.unique_state_count()
        );
        let path = checker.discovery(named);
        println!(
            "{:?} {}",
            path.as_ref().map(|p| p.clone().into_actions()),
            path.is_some()
        );
    }
}
