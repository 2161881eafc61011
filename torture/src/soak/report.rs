//! The samples, written down as they come, and what is said of them in the end. What is flat is `flat`'s business.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

use super::figure::{Figure, Kind, MIB};
use super::flat::{Course, Point, course};
use crate::Outcome;

/// Every figure of every moment.
pub(crate) struct Samples {
    file: BufWriter<File>,
    backend: &'static str,
    series: Vec<Series>,
}

struct Series {
    name: String,
    kind: Kind,
    points: Vec<Point>,
}

pub(crate) struct Report<'a> {
    pub(crate) backend: &'a str,
    pub(crate) samples: &'a Samples,
    pub(crate) apps: usize,
    pub(crate) length: Duration,
    pub(crate) operations: u64,
    pub(crate) answers: BTreeMap<String, u64>,
    /// What was there once nobody asked for anything.
    pub(crate) left: &'a [Figure],
    pub(crate) must_be_gone: &'a [&'a str],
}

impl Samples {
    pub(crate) fn begin(path: &Path) -> Outcome<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "backend,seconds,figure,value")?;
        Ok(Self {
            file,
            backend: "",
            series: Vec::new(),
        })
    }

    /// What comes now is of this backend.
    pub(crate) fn turn_to(&mut self, backend: &'static str) {
        self.backend = backend;
        self.series.clear();
    }

    pub(crate) fn add(&mut self, at: Duration, figures: &[Figure]) -> Outcome {
        let at = at.as_secs_f64();
        for Figure { name, kind, value } in figures {
            writeln!(self.file, "{},{at:.1},{name},{value}", self.backend)?;
            let point = Point { at, value: *value };
            match self.series.iter_mut().find(|one| one.name == *name) {
                Some(series) => series.points.push(point),
                None => self.series.push(Series {
                    name: name.clone(),
                    kind: *kind,
                    points: vec![point],
                }),
            }
        }
        Ok(self.file.flush()?)
    }
}

impl Report<'_> {
    /// Series that are not flat, and what should have gone and has not.
    pub(crate) fn failures(&self) -> usize {
        let uneven = self.courses().filter(|(_, course)| !course.is_flat);
        uneven.count() + self.staying().count()
    }

    fn courses(&self) -> impl Iterator<Item = (&Series, Course)> {
        let series = self.samples.series.iter();
        series.filter_map(|one| Some((one, course(&one.points, one.kind.bound())?)))
    }

    fn staying(&self) -> impl Iterator<Item = &Figure> {
        let named = |figure: &&Figure| self.must_be_gone.contains(&&*figure.name);
        self.left
            .iter()
            .filter(named)
            .filter(|figure| figure.value != 0.0)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).unwrap_or_default();
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "\n{}: {} operations", self.backend, self.operations)?;
        let answers: Vec<_> = self
            .answers
            .iter()
            .map(|(end, count)| format!("{end} {count}"))
            .collect();
        writeln!(text, "  answers: {}", answers.join(", "))?;
        writeln!(
            text,
            "{:<32} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "", "start", "2nd qrt", "3rd qrt", "last qrt", "bound", "per day", "at rest"
        )?;
        for (series, course) in self.courses() {
            self.line(text, series, course)?;
        }
        for (series, course) in self.courses() {
            if series.kind == Kind::Memory {
                let operations = self.operations as f64 / self.apps as f64;
                let seconds = self.length.as_secs_f64();
                let unseen = course.unseen(series.kind.bound(), operations, seconds);
                writeln!(
                    text,
                    "{}: a leak of {:.0} bytes at each operation would have been found",
                    series.name,
                    unseen.unwrap_or_default()
                )?;
            }
        }
        for figure in self.staying() {
            writeln!(text, "STAYS: {} {}", figure.value, figure.name)?;
        }
        let verdict = match self.failures() {
            0 => "all is flat".into(),
            count => format!("{count} FAILURES"),
        };
        writeln!(text, "{}: {verdict}", self.backend)
    }

    fn line(&self, text: &mut String, series: &Series, course: Course) -> std::fmt::Result {
        let is_bytes = series.kind.is_bytes() || series.name.contains("SS");
        let shown = |value: f64| match is_bytes {
            true => format!("{:.2} MiB", value / MIB),
            false => format!("{value:.0}"),
        };
        let bound = series.kind.bound().limit(course.second);
        let left = self.left.iter().find(|figure| figure.name == series.name);
        writeln!(
            text,
            "{:<32} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}{}",
            series.name,
            shown(course.start),
            shown(course.second),
            shown(course.third),
            shown(course.last),
            bound.map(shown).unwrap_or_default(),
            shown(course.per_day),
            left.map(|figure| shown(figure.value)).unwrap_or_default(),
            if course.is_flat { "" } else { "  NOT FLAT" },
        )
    }
}
