//! What came of all checks: for people, and as one JSON document.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::checks::Level;
use super::probe::Probe;
use crate::output::{self, printable, table};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Passed,
    /// The answers are right, and nobody could count the effects.
    AnswersOnly,
    /// Not kept, which the draft allows.
    Advised,
    /// Not kept, as the profile says.
    Deviation,
    Violated,
    /// Not asked.
    Skipped,
    /// Asked, without a word on it.
    Unchecked,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::Passed,
        Self::AnswersOnly,
        Self::Advised,
        Self::Deviation,
        Self::Violated,
        Self::Skipped,
        Self::Unchecked,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::AnswersOnly => "answers only",
            Self::Advised => "advised",
            Self::Deviation => "deviation",
            Self::Violated => "VIOLATED",
            Self::Skipped => "skipped",
            Self::Unchecked => "UNCHECKED",
        }
    }
}

#[derive(Serialize)]
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) level: Level,
    pub(super) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    pub(super) why: &'static str,
    pub(super) source: &'static str,
    #[serde(skip)]
    pub(super) took: Duration,
}

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) url: String,
    pub(super) method: String,
    pub(super) profile: String,
    /// What the profile changes in general.
    pub(super) notes: Vec<String>,
    /// What was seen of the server in front of all checks.
    pub(super) observed: Vec<String>,
    pub(super) key_prefix: String,
    pub(super) effects_counted: bool,
    pub(super) conformant: bool,
    /// Without those, that a server conforms says little: how many checks there are of each outcome.
    pub(super) counts: BTreeMap<Outcome, usize>,
    pub(super) checks: Vec<Row>,
}

impl Report {
    pub(super) fn of(probe: &Probe, observed: Vec<String>, checks: Vec<Row>) -> Self {
        let is_kept = |row: &Row| !matches!(row.outcome, Outcome::Violated | Outcome::Unchecked);
        Self {
            url: probe.place.shown.clone(),
            method: probe.method().to_string(),
            profile: probe.profile.name.clone(),
            notes: probe.profile.notes.clone(),
            observed,
            key_prefix: probe.prefix().to_owned(),
            effects_counted: probe.counts(),
            conformant: checks.iter().all(is_kept),
            counts: Outcome::ALL
                .map(|outcome| (outcome, count(&checks, outcome)))
                .into(),
            checks,
        }
    }

    pub(super) fn has(&self, outcome: Outcome) -> bool {
        self.checks.iter().any(|row| row.outcome == outcome)
    }

    pub(super) fn count(&self, outcome: Outcome) -> usize {
        count(&self.checks, outcome)
    }

    pub(super) fn print(&self, json: bool) {
        output::print(json, self, || self.text());
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} {} by the profile {}; keys begin with {}\n",
            self.method, self.url, self.profile, self.key_prefix
        );
        for note in &self.notes {
            text += &format!("documented: {note}\n");
        }
        for what in &self.observed {
            text += &format!("seen: {what}\n");
        }
        if !self.effects_counted {
            text += "effects are not counted, only answers looked at: say --count\n";
        }
        text += "\n";
        let rows = self.checks.iter().map(|row| {
            let cells = [row.outcome.name(), row.level.name(), row.id, row.title];
            cells.map(str::to_owned).to_vec()
        });
        text += &table(
            &["OUTCOME", "LEVEL", "CHECK", "WHAT HOLDS IF IT PASSES"],
            rows,
        );
        // That nothing was counted has been said.
        let said = self
            .checks
            .iter()
            .filter(|row| row.outcome != Outcome::AnswersOnly);
        let mut said = said
            .filter_map(|row| Some((row, row.detail.as_ref()?)))
            .peekable();
        if said.peek().is_some() {
            text += "\n";
        }
        for (row, detail) in said {
            text += &format!("{} {}: {}\n", row.outcome.name(), row.id, printable(detail));
            if matches!(row.outcome, Outcome::Violated | Outcome::Advised) {
                text += &format!("    otherwise {} ({})\n", row.why, row.source);
            }
        }
        text + &format!("\n{}\n", self.summary())
    }

    fn summary(&self) -> String {
        let counted = Outcome::ALL.map(|outcome| (outcome, self.count(outcome)));
        let counted = counted.iter().filter(|(_, count)| *count > 0);
        let counted: Vec<_> = counted
            .map(|(outcome, count)| format!("{count} {}", outcome.name().to_lowercase()))
            .collect();
        let verdict = match (self.has(Outcome::Violated), self.has(Outcome::Unchecked)) {
            (true, _) => "it does not conform",
            (false, true) => "it could not be checked",
            (false, false) => "it conforms, as far as it was checked",
        };
        format!("{}: {verdict}", counted.join(", "))
    }
}

fn count(rows: &[Row], outcome: Outcome) -> usize {
    rows.iter().filter(|row| row.outcome == outcome).count()
}
