//! Torture is put to the test itself: nothing may be found in an application without a defect, and something in each
//! with one, under the same plan.

use std::collections::BTreeMap;

use crate::Outcome;
use crate::backends;
use crate::defects;
use crate::options::{Choice, Options, Style};
use crate::run::{self, Run};

/// Every defect on every backend that was asked for, and the application without one before them.
pub(crate) async fn all(options: &Options) -> Outcome {
    let seed = options.seed();
    let mut lines = vec![
        [
            "defect",
            "backend",
            "style",
            "harmed for",
            "operations",
            "violations",
        ]
        .map(String::from),
    ];
    let mut failures = Vec::new();
    for (defect, backend, style) in wanted(options) {
        for name in backends::chosen(backend) {
            let run = run::one(&options.with(defect, backend, style), name, style, seed).await?;
            let line = line(defect, name, style, &run);
            eprintln!("idem-torture: {}", line.join(", "));
            if defect.is_some() == run.violations.is_empty() {
                failures.push(line.join(", "));
            }
            lines.push(line);
        }
    }
    println!();
    for [defect, backend, style, seconds, operations, violations] in &lines {
        println!(
            "{defect:<27}  {backend:<8}  {style:<12}  {seconds:>10}  {operations:>10}  {violations}"
        );
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("not as it should be:\n{}", failures.join("\n")).into())
}

/// Which defect where, and none before them. Each style by itself: what one of them does right would hide what the other
/// does wrong.
fn wanted(options: &Options) -> Vec<(Option<&'static str>, Choice, Style)> {
    let mut wanted = Vec::new();
    for backend in [Choice::Postgres, Choice::Mysql, Choice::Sqlite] {
        for style in [Style::Asynchronous, Style::Blocking] {
            let is_wanted =
                options.backend.includes(backend) && [Style::Mixed, style].contains(&options.style);
            let shows = |one: &&defects::Defect| {
                let mut names = backends::chosen(backend).iter();
                names.all(|name| style.on(name) == Some(style) && one.shows(name, style))
            };
            let defects = defects::ALL
                .iter()
                .filter(|one| is_wanted && shows(one))
                .map(|one| one.name)
                .filter(|name| options.defect.as_deref().is_none_or(|only| only == *name));
            let defects: Vec<_> = defects.map(Some).collect();
            if !defects.is_empty() {
                wanted.push((None, backend, style));
            }
            wanted.extend(defects.into_iter().map(|defect| (defect, backend, style)));
        }
    }
    wanted
}

fn line(defect: Option<&str>, backend: &str, style: Style, run: &Run) -> [String; 6] {
    let mut kinds: BTreeMap<_, u32> = BTreeMap::new();
    for violation in &run.violations {
        *kinds.entry(violation.kind).or_default() += 1;
    }
    let kinds: Vec<_> = kinds
        .iter()
        .map(|(kind, count)| format!("{kind:?} {count}"))
        .collect();
    [
        defect.unwrap_or("(none)").to_owned(),
        backend.to_owned(),
        style.name().to_owned(),
        format!("{:.0} s", run.harmed_for.as_secs_f64()),
        run.operations.to_string(),
        match kinds.is_empty() {
            true => "none".to_owned(),
            false => format!("{}: {}", run.violations.len(), kinds.join(", ")),
        },
    ]
}
