//! What a run is told on the command line. Decides nothing that a figure should decide.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::{Outcome, figures};

const ROUNDS: usize = 7;
const SECONDS: f64 = 2.0;
const QUICK_ROUNDS: usize = 3;
const QUICK_SECONDS: f64 = 0.4;
const LEAST_SECONDS: f64 = 0.05;

/// Measures what protection costs, as ratios
#[derive(Clone, Debug, Parser)]
#[command(name = "idem-bench")]
pub(crate) struct Options {
    /// Rounds of a ratio: each measures every side once [default: 7, quick 3]
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds that one side is measured in one round [default: 2, quick 0.4]
    #[arg(long)]
    seconds: Option<f64>,
    /// Few cells, few and short rounds: whether it works, not what is so
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only this figure; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Of the throughput matrix only cells whose names contain this, such as `one insert, 300 B, 16`
    #[arg(long, value_name = "TEXT")]
    pub(crate) cell: Option<String>,
    /// Show what every side did in every round; these numbers are in no report
    #[arg(long)]
    pub(crate) verbose: bool,
    /// The test application, built for release; beside this program unless given
    #[arg(long, value_name = "PATH")]
    pub(crate) testapp: Option<PathBuf>,
    /// Where the report goes; `target/bench` unless given
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
}

impl Options {
    pub(crate) fn rounds(&self) -> usize {
        let usual = if self.quick { QUICK_ROUNDS } else { ROUNDS };
        self.rounds.unwrap_or(usual).max(1)
    }

    /// How long one side is measured in one round.
    pub(crate) fn duration(&self) -> Duration {
        let usual = if self.quick { QUICK_SECONDS } else { SECONDS };
        Duration::from_secs_f64(self.seconds.unwrap_or(usual).max(LEAST_SECONDS))
    }

    /// The names of what is to be measured, in the order of the report.
    pub(crate) fn figures(&self) -> Outcome<Vec<&'static str>> {
        let unknown = |name: &&String| !figures::NAMES.contains(&name.as_str());
        if let Some(name) = self.only.iter().find(unknown) {
            let known = figures::NAMES.join(", ");
            return Err(format!("there is no figure `{name}`; there are {known}").into());
        }
        let is_wanted =
            |name: &&&str| self.only.is_empty() || self.only.iter().any(|only| only == **name);
        Ok(figures::NAMES.iter().filter(is_wanted).copied().collect())
    }
}
