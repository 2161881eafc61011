//! Torture is put to the test itself: nothing may be found in an application without a defect, and something in each
//! with one, under the same plan.

use std::collections::BTreeMap;

use crate::Outcome;
use crate::backends;
use crate::defects;
use crate::options::{Choice, Options};
use crate::run::{self, Run};

/// Every defect on every backend that was asked for, and the application without one before them.
pub(crate) async fn all(options: &Options) -> Outcome {
    let seed = options.seed();
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    for backend in [Choice::Postgres, Choice::Sqlite] {
        let [name] = *backends::chosen(backend) else {
            continue;
        };
        if !options.backend.includes(backend) {
            continue;
        }
        let defects = defects::ALL.iter().filter(|one| one.on.includes(backend));
        for defect in std::iter::once(None).chain(defects.map(|one| Some(one.name))) {
            let run = run::one(&options.with(defect, backend), name, seed).await?;
            let line = line(defect, name, &run);
            eprintln!("idem-torture: {line}");
            if defect.is_some() == run.violations.is_empty() {
                failures.push(line.clone());
            }
            lines.push(line);
        }
    }
    println!(
        "\n{}",
        line_of(
            "defect",
            "backend",
            "harmed for",
            "operations",
            "violations"
        )
    );
    for line in lines {
        println!("{line}");
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("not as it should be:\n{}", failures.join("\n")).into())
}

fn line(defect: Option<&str>, backend: &str, run: &Run) -> String {
    let mut kinds: BTreeMap<_, u32> = BTreeMap::new();
    for violation in &run.violations {
        *kinds.entry(violation.kind).or_default() += 1;
    }
    let kinds: Vec<_> = kinds
        .iter()
        .map(|(kind, count)| format!("{kind:?} {count}"))
        .collect();
    let found = match kinds.is_empty() {
        true => "none".to_owned(),
        false => format!("{}: {}", run.violations.len(), kinds.join(", ")),
    };
    let seconds = format!("{:.0} s", run.harmed_for.as_secs_f64());
    let operations = run.operations.to_string();
    line_of(
        defect.unwrap_or("(none)"),
        backend,
        &seconds,
        &operations,
        &found,
    )
}

fn line_of(defect: &str, backend: &str, seconds: &str, operations: &str, found: &str) -> String {
    format!("{defect:<26}  {backend:<8}  {seconds:>10}  {operations:>10}  {found}")
}
