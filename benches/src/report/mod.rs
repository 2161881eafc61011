//! What a run has found, written for people and for programs. Judges nothing that a figure does not say itself.

mod markdown;
mod plot;
mod table;

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Outcome;
use crate::figure::Figure;
use crate::machine::Machine;

#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    figures: Vec<Figure>,
}

impl Report {
    pub(crate) fn new(machine: Machine) -> Self {
        Self {
            machine,
            figures: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, figures: Vec<Figure>) {
        self.figures.extend(figures);
    }

    /// For a terminal.
    pub(crate) fn table(&self) -> String {
        table::render(&self.figures)
    }

    pub(crate) fn write(&self, directory: &Path) -> Outcome {
        fs::create_dir_all(directory)?;
        let json = serde_json::to_string_pretty(self)?;
        fs::write(directory.join("results.json"), json)?;
        fs::write(
            directory.join("results.md"),
            markdown::render(&self.machine, &self.figures),
        )?;
        fs::write(directory.join("results.svg"), plot::render(&self.figures)?)?;
        Ok(())
    }
}

/// Figures one group after another, in the order in which the groups were first met.
fn groups(figures: &[Figure]) -> Vec<(&str, Vec<&Figure>)> {
    let mut groups: Vec<(&str, Vec<&Figure>)> = Vec::new();
    for figure in figures {
        match groups.iter_mut().find(|(name, _)| *name == figure.group) {
            Some((_, members)) => members.push(figure),
            None => groups.push((&figure.group, vec![figure])),
        }
    }
    groups
}

#[cfg(test)]
fn samples() -> Vec<Figure> {
    use crate::figure::{Spread, Target};

    let spread = |median, low, high| Spread {
        median,
        low,
        high,
        rounds: 7,
    };
    vec![
        Figure::ratio("Throughput", "protected / bare", spread(0.78, 0.70, 0.81))
            .target(Some(Target::AtLeast(0.75))),
        Figure::ratio("Throughput", "protected / floor", spread(0.90, 0.88, 0.93))
            .target(Some(Target::AtLeast(0.92))),
        Figure::count("Storm", "connections", 1.0, "connection")
            .target(Some(Target::AtMost(1.0)))
            .note("of 1,000"),
    ]
}
