//! The `idem` command: reads the command line, has the work done, and tells what was done.
//!
//! Nothing here touches a file.

mod args;
mod generate;

use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::migrations::{FILES_POSTGRES, FILES_SQLITE};

use crate::args::{Args, Backend, Command, Migration};
use crate::generate::Outcome;

fn main() -> ExitCode {
    let Command::Migration(Migration::Generate(wanted)) = Args::parse().command;
    let migrations = match wanted.backend {
        Backend::Postgres => FILES_POSTGRES,
        Backend::Sqlite => FILES_SQLITE,
    };
    let mut all_in_place = true;
    let mut report = |path: &Path, outcome: Outcome| {
        all_in_place &= matches!(outcome, Outcome::Created | Outcome::Unchanged);
        tell(path, outcome);
    };
    match generate::generate(migrations, &wanted.dir, &mut report) {
        Ok(()) if all_in_place => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(stderr(), "idem: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whoever closed our output has no say in what is written, so that errors are ignored here.
fn tell(path: &Path, outcome: Outcome) {
    let path = path.display();
    let _ = match outcome {
        Outcome::Created => writeln!(stdout(), "created    {path}"),
        Outcome::Unchanged => writeln!(stdout(), "unchanged  {path}"),
        Outcome::Differs => writeln!(
            stderr(),
            "idem: kept, differs: {path}\n  \
             To get the released text, move the file away and run this again."
        ),
        Outcome::VersionTaken(name) => writeln!(
            stderr(),
            "idem: kept, has the version of {name}: {path}\n  \
             Diesel tells migrations apart by version. If it is ours, give it its name back; if it \
             is not, give it another version."
        ),
    };
}
