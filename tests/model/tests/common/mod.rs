//! Runs the checker, and says what it has found.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

use idem_model::defects::Defect;
use stateright::{Checker, Expectation, HasDiscoveries, Model};

/// Visits every state. Nothing that must hold fails, and whatever should be possible is, save `unseen`.
pub(crate) fn holds<M>(bounds: &str, model: M, unseen: &[&str])
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Debug + Clone + PartialEq + Send + Sync,
{
    let properties = model.properties();
    let began = Instant::now();
    let checker = model
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let states = checker.unique_state_count();
    let took = began.elapsed();
    println!("{bounds}: {states} states, all that there are, in {took:.1?}");
    let found = checker.discoveries();
    for property in properties {
        match (property.expectation, found.get(property.name)) {
            (Expectation::Sometimes, None) => {
                assert!(unseen.contains(&property.name), "never {}", property.name);
            }
            (Expectation::Sometimes, Some(_)) => assert!(!unseen.contains(&property.name)),
            (_, None) => {}
            (_, Some(path)) => panic!("not {}:\n{path}", property.name),
        }
    }
}

/// Looks until this property fails, and says by which actions it does.
pub(crate) fn fails<M>(broken: &str, model: M, property: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Debug + Clone + PartialEq + Send + Sync,
    M::Action: Debug + Clone + PartialEq + Send + Sync,
{
    // One thread, for the shortest way.
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AllOf([property].into()))
        .spawn_bfs()
        .join();
    let states = checker.unique_state_count();
    let Some(path) = checker.discovery(property) else {
        panic!("{broken}: `{property}` holds in all of its {states} states");
    };
    let actions = path.into_actions();
    println!(
        "{broken}: not `{property}`, in {} actions, {states} states seen",
        actions.len()
    );
    for action in actions {
        println!("    {action:?}");
    }
}

/// A property that nothing can break says nothing.
pub(crate) fn has_its_defect<M: Model>(model: M, defects: &[Defect]) {
    for property in model.properties() {
        let is_named = defects.iter().any(|one| one.caught_by() == property.name);
        let is_promise = property.expectation != Expectation::Sometimes;
        assert!(
            is_named || !is_promise,
            "nothing breaks `{}`",
            property.name
        );
    }
}
