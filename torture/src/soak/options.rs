//! What a soak is told on the command line.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::Outcome;
use crate::options::{Choice, target};

/// Lets clients live for long, and looks whether anything grows
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask soak")]
pub(crate) struct Options {
    /// How long, all backends together
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    #[arg(long, value_enum, default_value_t)]
    pub(crate) backend: Choice,
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..200))]
    pub(crate) clients: u32,
    /// The test application; beside this program unless given
    #[arg(long, value_name = "PATH")]
    app: Option<PathBuf>,
    /// Where samples go, one figure a line; `target/soak/samples.csv` unless given
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Options {
    /// How long on each backend.
    pub(crate) fn duration(&self) -> Duration {
        self.backend.share(self.minutes * 60.0)
    }

    pub(crate) fn app(&self) -> Outcome<PathBuf> {
        let beside = env::current_exe()?.with_file_name("idem-testapp");
        Ok(self.app.clone().unwrap_or(beside))
    }

    pub(crate) fn output(&self) -> Outcome<PathBuf> {
        match &self.output {
            Some(file) => Ok(file.clone()),
            None => Ok(target()?.join("soak/samples.csv")),
        }
    }
}
