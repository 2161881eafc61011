//! The report as Markdown: `results.md`, of which `RESULTS.md` is a copy.

use std::fmt::Write as _;

use crate::figure::Figure;
use crate::machine::Machine;

use super::groups;
use super::table::{spread, target, value, verdict};

const HEAD: &str = "# What protection costs

Written by `cargo xtask bench`. Ratios are measured in turn (A B A B …, who goes first alternates) against one process
of the application, in one database: the median of all rounds, and the lowest and highest. The application, the load
and PostgreSQL share the machine.

";

pub(super) fn render(machine: &Machine, figures: &[Figure]) -> String {
    let mut text = String::from(HEAD);
    text += "| run | |\n|---|---|\n";
    for (name, value) in &machine.facts {
        let _ = writeln!(text, "| {name} | {} |", cell(value));
    }
    text += "\n![The ratios as bars](results.svg)\n";
    for (group, members) in groups(figures) {
        let _ = write!(
            text,
            "\n## {group}\n\n| figure | value | spread | target | | note |\n|---|---|---|---|---|---|\n"
        );
        for figure in members {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                cell(&figure.name),
                value(figure),
                spread(figure),
                target(figure),
                verdict(figure),
                cell(figure.note.as_deref().unwrap_or_default()),
            );
        }
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_group_is_a_table() {
        let machine = Machine {
            facts: vec![("kernel".into(), "Linux | 6".into())],
        };
        let text = render(&machine, &samples());
        assert!(text.contains("| kernel | Linux \\| 6 |\n"));
        assert!(text.contains("\n## Throughput\n\n| figure |"));
        assert!(text.contains("| protected / bare | 0.78 | 0.70–0.81 | ≥ 0.75 | met |  |\n"));
        assert!(text.contains("| connections | 1 connection |  | ≤ 1 | met | of 1,000 |\n"));
    }
}
