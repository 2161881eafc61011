//! Runs the `idem` command as a person would.

pub(crate) mod app;
pub(crate) mod holder;
pub(crate) mod place;
pub(crate) mod shop;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The command in this directory, in an environment that says nothing.
pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
    command.args(args).current_dir(dir);
    for variable in ["DATABASE_URL", "MIGRATION_DIRECTORY", "DIESEL_CONFIG_FILE"] {
        command.env_remove(variable);
    }
    command
}

pub(crate) fn idem(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

/// `idem migration generate` with these options, which must succeed; returns what it printed.
#[track_caller]
pub(crate) fn generate(dir: &Path, options: &[&str]) -> String {
    let output = idem(dir, &[&["migration", "generate"], options].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{complaint}");
    assert_eq!(complaint, "");
    said
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It went well.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }

    /// It found something, or did not do it, and said this of it.
    #[track_caller]
    pub(crate) fn refused(self, because: &str) -> Self {
        assert_eq!(self.code, 1, "{}{}", self.out, self.err);
        assert!(self.err.contains(because), "{}", self.err);
        self
    }

    /// The document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}{}", self.out, self.err))
    }

    /// The audit line.
    #[track_caller]
    pub(crate) fn audit(&self) -> Value {
        let mut lines = self
            .err
            .lines()
            .filter(|line| line.starts_with("{\"audit\""));
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("no audit line: {}", self.err));
        assert_eq!(lines.next(), None);
        serde_json::from_str(line).unwrap()
    }
}
