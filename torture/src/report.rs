//! The figures of a run: what was asked, what was done to whom, what was answered, what was sent, and what should not have
//! been seen.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::check::Violation;
use crate::history::{Attempt, End, Record};
use crate::operator::Settled;
use crate::slot::Slot;

/// Of each kind, so many are shown.
const SHOWN: usize = 5;

pub(crate) struct Report<'a> {
    pub(crate) backend: &'a str,
    pub(crate) seed: u64,
    pub(crate) harmed_for: Duration,
    pub(crate) settled_in: Duration,
    pub(crate) record: &'a Record,
    pub(crate) settled: Settled,
    pub(crate) slots: &'a [Slot],
    pub(crate) violations: &'a [Violation],
    pub(crate) replay: String,
}

impl Report<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).unwrap_or_default();
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let record = self.record;
        writeln!(
            text,
            "{}, seed {}: harmed for {:.1} s, settled in {:.1} s",
            self.backend,
            self.seed,
            self.harmed_for.as_secs_f64(),
            self.settled_in.as_secs_f64()
        )?;
        self.processes(text)?;
        let operations = counted(record.operations.iter().map(|one| one.workload.to_owned()));
        let during = record.attempts.iter().filter(|one| !one.is_after_the_harm);
        section(text, "operations", &operations)?;
        section(text, "attempts under harm", &counted(during.map(ended)))?;
        let after = record.attempts.iter().filter(|one| one.is_after_the_harm);
        section(text, "attempts afterwards", &counted(after.map(ended)))?;
        let done = record.faults.iter().filter(|one| one.what.is_some());
        section(
            text,
            "faults",
            &counted(done.map(|one| one.fault.to_owned())),
        )?;
        let skipped = record.faults.iter().filter(|one| one.what.is_none());
        section(
            text,
            "faults skipped",
            &counted(skipped.map(|one| one.fault.to_owned())),
        )?;
        if self.slots.iter().any(|slot| slot.clock.is_none()) {
            writeln!(text, "  clocks of hosts were not moved: no libfaketime")?;
        }
        writeln!(
            text,
            "  settled by the operator: {} completed, {} released",
            self.settled.completed, self.settled.released
        )?;
        writeln!(
            text,
            "  left by their clients and driven by a worker: {}",
            self.driven()
        )?;
        self.messages(text)?;
        let kinds = counted(self.violations.iter().map(|one| format!("{:?}", one.kind)));
        section(text, "violations", &kinds)?;
        let mut shown: BTreeMap<_, usize> = BTreeMap::new();
        for violation in self.violations {
            let count = shown.entry(violation.kind).or_default();
            *count += 1;
            if *count <= SHOWN {
                let Violation {
                    kind,
                    operation,
                    detail,
                } = violation;
                let detail = detail.replace('\n', " ");
                writeln!(text, "    {kind:?} {operation}: {detail:.500}")?;
            }
        }
        writeln!(
            text,
            "  the same plan again, with another timing: {}",
            self.replay
        )
    }

    /// What they are, and what nobody is asked for because of that.
    fn processes(&self, text: &mut String) -> std::fmt::Result {
        let blocking = self.slots.iter().filter(|slot| slot.is_blocking).count();
        let count = self.slots.len() - blocking;
        let skipped = match (blocking, count) {
            (0, _) => "",
            (_, 0) => "; lease mode, which they do not have, is skipped",
            _ => "; lease mode is asked of the others only",
        };
        writeln!(
            text,
            "  processes: {count} with async handlers, {blocking} with blocking ones{skipped}"
        )
    }

    /// How many arrived, and how often.
    fn messages(&self, text: &mut String) -> std::fmt::Result {
        let arrivals = &self.record.arrivals;
        let taken = arrivals.iter().filter(|arrival| arrival.is_taken);
        let often = counted(taken.map(|arrival| arrival.id.clone()));
        let total: u64 = often.values().sum();
        let more_than_once = often.values().filter(|count| **count > 1).count();
        writeln!(
            text,
            "  messages: {} in {total} arrivals, {more_than_once} of them more than once; {} arrivals refused",
            often.len(),
            arrivals.len() as u64 - total
        )
    }

    /// Operations whose client has left, and whose record was there when somebody asked afterwards.
    fn driven(&self) -> usize {
        let mut first = BTreeMap::new();
        for attempt in &self.record.attempts {
            if attempt.is_after_the_harm && self.record.operations[attempt.operation].manners.leaves
            {
                let is_replay = attempt.answer().is_some_and(|answer| answer.is_replay);
                first.entry(attempt.operation).or_insert(is_replay);
            }
        }
        let answered = |place: &usize| {
            let own = self.record.attempts.iter();
            own.filter(|one| one.operation == *place && !one.is_after_the_harm)
                .any(|one| one.answer().is_some_and(|answer| answer.status < 300))
        };
        let replayed = first.iter().filter(|(_, is_replay)| **is_replay);
        replayed.filter(|(place, _)| !answered(place)).count()
    }
}

fn ended(attempt: &Attempt) -> String {
    match &attempt.end {
        End::Lost(_) => "lost".into(),
        End::HungUp => "hung up".into(),
        End::Answer(answer) => match (&answer.code, answer.is_replay) {
            (Some(code), _) => format!("{} {code}", answer.status),
            (None, true) => format!("{} replay", answer.status),
            (None, false) => answer.status.to_string(),
        },
    }
}

fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn section(text: &mut String, title: &str, counts: &BTreeMap<String, u64>) -> std::fmt::Result {
    let total: u64 = counts.values().sum();
    let parts: Vec<_> = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    match parts.is_empty() {
        true => writeln!(text, "  {title}: none"),
        false => writeln!(text, "  {title}: {total} ({})", parts.join(", ")),
    }
}
