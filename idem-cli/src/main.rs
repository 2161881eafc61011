//! The `idem` command: reads the command line, has the work done, and tells what was done.
//!
//! Nothing here touches a file.

mod args;
mod generate;

use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::migrations::{
    FILES_INBOX_MYSQL, FILES_INBOX_POSTGRES, FILES_INBOX_SQLITE, FILES_MYSQL, FILES_OUTBOX_MYSQL,
    FILES_OUTBOX_POSTGRES, FILES_OUTBOX_SQLITE, FILES_POSTGRES, FILES_SQLITE, MigrationFile,
};

use crate::args::{Args, Backend, Command, Generate, Migration, Part};
use crate::generate::Outcome;

fn main() -> ExitCode {
    let Command::Migration(Migration::Generate(wanted)) = Args::parse().command;
    let mut all_in_place = true;
    let mut report = |path: &Path, outcome: Outcome| {
        all_in_place &= matches!(outcome, Outcome::Created | Outcome::Unchanged);
        tell(path, outcome);
    };
    match generate::generate(&migrations(&wanted), &wanted.dir, &mut report) {
        Ok(()) if all_in_place => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(stderr(), "idem: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Those of the keys, and those of the parts that are wanted.
fn migrations(wanted: &Generate) -> Vec<MigrationFile> {
    let (keys, outbox, inbox) = match wanted.backend {
        Backend::Postgres => (FILES_POSTGRES, FILES_OUTBOX_POSTGRES, FILES_INBOX_POSTGRES),
        Backend::Mysql => (FILES_MYSQL, FILES_OUTBOX_MYSQL, FILES_INBOX_MYSQL),
        Backend::Sqlite => (FILES_SQLITE, FILES_OUTBOX_SQLITE, FILES_INBOX_SQLITE),
    };
    let mut migrations = keys.to_vec();
    for part in &wanted.with {
        migrations.extend(match part {
            Part::Outbox => outbox,
            Part::Inbox => inbox,
        });
    }
    migrations
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
