//! Figures as text in columns, and how a value, a spread and a target are spelt everywhere.

use std::fmt::Write as _;

use crate::figure::{Figure, Target, Value};

use super::groups;

pub(super) fn render(figures: &[Figure]) -> String {
    let width = figures
        .iter()
        .map(|figure| figure.name.chars().count())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for (group, members) in groups(figures) {
        let _ = writeln!(text, "\n{group}");
        for figure in members {
            let line = format!(
                "  {:width$}  {:>14}  {:>13}  {:>8}  {:6}  {}",
                figure.name,
                value(figure),
                spread(figure),
                target(figure),
                verdict(figure),
                figure.note.as_deref().unwrap_or_default(),
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

pub(super) fn value(figure: &Figure) -> String {
    match &figure.value {
        Value::Ratio(spread) => format!("{:.2}", spread.median),
        Value::Count { value, unit } => format!("{} {unit}", number(*value)).trim_end().into(),
    }
}

pub(super) fn spread(figure: &Figure) -> String {
    match &figure.value {
        Value::Ratio(spread) => format!("{:.2}–{:.2}", spread.low, spread.high),
        Value::Count { .. } => String::new(),
    }
}

pub(super) fn target(figure: &Figure) -> String {
    match figure.target {
        Some(Target::AtLeast(least)) => format!("≥ {}", number(least)),
        Some(Target::AtMost(most)) => format!("≤ {}", number(most)),
        None => String::new(),
    }
}

pub(super) fn verdict(figure: &Figure) -> &'static str {
    match figure.is_met() {
        Some(true) => "met",
        Some(false) => "missed",
        None => "",
    }
}

/// Whole numbers in groups of three digits, others with what of the fraction can be told apart.
fn number(value: f64) -> String {
    if value.fract() != 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(number(340_000.0), "340,000");
        assert_eq!(number(999.0), "999");
        assert_eq!(number(-1000.0), "-1,000");
        assert_eq!(number(0.754), "0.75");
    }

    #[test]
    fn every_figure_has_a_line_below_its_group() {
        let text = render(&samples());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "Throughput");
        assert!(lines[2].contains("0.78") && lines[2].contains("0.70–0.81"));
        assert!(lines[2].contains("≥ 0.75") && lines[2].contains("met"));
        assert!(lines[3].contains("missed"));
        assert_eq!(lines[5], "Storm");
        let words: Vec<&str> = lines[6].split_whitespace().collect();
        let expected = [
            "connections",
            "1",
            "connection",
            "≤",
            "1",
            "met",
            "of",
            "1,000",
        ];
        assert_eq!(words, expected);
    }
}
