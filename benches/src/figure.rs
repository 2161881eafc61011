//! One line of the report: what was measured, what came out, what was aimed at. Measures nothing, prints nothing.

use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) target: Option<Target>,
    pub(crate) note: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Value {
    /// Of two sides that were measured in turn.
    Ratio(Spread),
    /// Deterministic, or a single figure with a unit; never a time.
    Count { value: f64, unit: &'static str },
}

/// A ratio over all rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) rounds: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    pub(crate) fn ratio(group: &str, name: impl Into<String>, spread: Spread) -> Self {
        Self::new(group, name, Value::Ratio(spread))
    }

    pub(crate) fn count(
        group: &str,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self::new(group, name, Value::Count { value, unit })
    }

    fn new(group: &str, name: impl Into<String>, value: Value) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
            value,
            target: None,
            note: None,
        }
    }

    #[must_use]
    pub(crate) fn target(mut self, target: Option<Target>) -> Self {
        self.target = target;
        self
    }

    #[must_use]
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Whether the target is met, where there is one.
    pub(crate) fn is_met(&self) -> Option<bool> {
        let value = self.value.median();
        self.target.map(|target| match target {
            Target::AtLeast(least) => value >= least,
            Target::AtMost(most) => value <= most,
        })
    }
}

impl Value {
    pub(crate) fn median(&self) -> f64 {
        match self {
            Self::Ratio(spread) => spread.median,
            Self::Count { value, .. } => *value,
        }
    }
}
