//! What a run is told on the command line. Decides nothing that the seed should decide.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use clap::{Parser, ValueEnum};

use crate::{Outcome, backends, defects, faults, workloads};

const SECONDS: f64 = 60.0;

/// Harms applications and databases under load, and checks what clients saw
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask torture")]
pub(crate) struct Options {
    /// How long to do harm, all backends together
    #[arg(long)]
    minutes: Option<f64>,
    /// The same in seconds [default: 60]
    #[arg(long, conflicts_with = "minutes")]
    seconds: Option<f64>,
    /// Everything random comes from it: the plan is the same again, its timing is not [default: the time]
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, value_enum, default_value_t)]
    pub(crate) backend: Choice,
    /// Whether the applications' handlers are `async`
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: Style,
    /// Processes of the application
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) apps: u32,
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..1000))]
    pub(crate) clients: u32,
    /// A fault about so often; 0 for none
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 300)]
    pub(crate) fault_every: u64,
    /// Only this fault; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) fault: Vec<String>,
    /// Only this workload; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Vec<String>,
    /// The test application; beside this program unless given
    #[arg(long, value_name = "PATH")]
    app: Option<PathBuf>,
    /// A defect that the application was compiled with: it is told by IDEM_DEFECT
    #[arg(long, value_name = "NAME")]
    pub(crate) defect: Option<String>,
    /// Whether each defect that the application was compiled with is found, or the one that is named, and nothing
    /// without one; never more than 60 seconds for each, and each style by itself
    #[arg(long, conflicts_with = "minutes")]
    pub(crate) defects: bool,
    /// Where histories go; `target/torture` unless given
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
}

/// Where to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    Postgres,
    Mysql,
    Sqlite,
    #[default]
    All,
}

impl Choice {
    /// Of so many seconds for all, what each backend has.
    pub(crate) fn share(self, seconds: f64) -> Duration {
        let backends = backends::chosen(self).len();
        Duration::try_from_secs_f64(seconds / backends as f64).unwrap_or_default()
    }

    pub(crate) fn includes(self, other: Self) -> bool {
        self == Self::All || self == other
    }
}

/// How the handlers of the processes are written, which share one database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// Every second process has blocking ones, where the application has them
    #[default]
    Mixed,
    Asynchronous,
    /// Without lease mode, which is for `async` handlers
    Blocking,
}

impl Style {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Asynchronous => "asynchronous",
            Self::Blocking => "blocking",
        }
    }

    /// What it comes to there; `None` where the application has nothing of the kind.
    pub(crate) fn on(self, backend: &str) -> Option<Self> {
        match self {
            _ if backends::has_blocking(backend) => Some(self),
            Self::Mixed | Self::Asynchronous => Some(Self::Asynchronous),
            Self::Blocking => None,
        }
    }

    /// Whether the process of this number has blocking handlers.
    pub(crate) fn is_blocking(self, number: usize) -> bool {
        match self {
            Self::Mixed => number % 2 == 1,
            Self::Asynchronous => false,
            Self::Blocking => true,
        }
    }
}

impl Options {
    /// The same for one of the runs that look for defects.
    pub(crate) fn with(&self, defect: Option<&str>, backend: Choice, style: Style) -> Self {
        Self {
            seconds: Some(self.seconds.unwrap_or(SECONDS).min(SECONDS)),
            backend,
            style,
            defect: defect.map(str::to_owned),
            defects: false,
            ..self.clone()
        }
    }

    /// How long to do harm on each backend.
    pub(crate) fn duration(&self) -> Duration {
        let seconds = self.minutes.map(|minutes| minutes * 60.0).or(self.seconds);
        self.backend.share(seconds.unwrap_or(SECONDS))
    }

    /// The one given, or one that nobody has had.
    pub(crate) fn seed(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.seed
            .unwrap_or_else(|| now.unwrap_or_default().as_secs() % 1_000_000)
    }

    /// The command that makes the same plan again.
    pub(crate) fn replay(&self, seed: u64, backend: &str) -> String {
        let mut line = format!("cargo xtask torture --seed {seed} --backend {backend}");
        line += &format!(" --style {}", self.style.name());
        line += &format!(" --seconds {}", self.duration().as_secs_f64());
        line += &format!(" --apps {} --clients {}", self.apps, self.clients);
        line += &format!(" --fault-every {}", self.fault_every);
        for name in &self.fault {
            line += &format!(" --fault {name}");
        }
        for name in &self.workload {
            line += &format!(" --workload {name}");
        }
        if let Some(app) = &self.app {
            line += &format!(" --app {}", app.display());
        }
        if let Some(defect) = &self.defect {
            line += &format!(" --defect {defect}");
        }
        line
    }

    pub(crate) fn app(&self) -> Outcome<PathBuf> {
        let path = match &self.app {
            Some(path) => {
                fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?
            }
            None => env::current_exe()?.with_file_name("idem-testapp"),
        };
        if path.is_file() {
            return Ok(path);
        }
        Err(format!("there is no test application at {}", path.display()).into())
    }

    pub(crate) fn output(&self) -> Outcome<PathBuf> {
        match &self.output {
            Some(directory) => Ok(directory.clone()),
            None => Ok(target()?.join("torture")),
        }
    }

    pub(crate) fn check_names(&self) -> Outcome {
        known("fault", &self.fault, faults::ALL.iter().map(|one| one.name))?;
        known(
            "defect",
            self.defect.as_slice(),
            defects::ALL.iter().map(|one| one.name),
        )?;
        known(
            "workload",
            &self.workload,
            workloads::ALL.iter().map(|one| one.name()),
        )
    }
}

/// Cargo's directory: we are one of target/debug's programs.
pub(crate) fn target() -> Outcome<PathBuf> {
    let program = env::current_exe()?;
    let target = program.ancestors().nth(2).ok_or("we are nowhere")?;
    Ok(target.to_owned())
}

fn known(what: &str, given: &[String], names: impl Iterator<Item = &'static str>) -> Outcome {
    let names: Vec<_> = names.collect();
    match given.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(format!(
            "there is no {what} `{name}`; there are {}",
            names.join(", ")
        )
        .into()),
        None => Ok(()),
    }
}
