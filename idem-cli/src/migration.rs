//! `idem migration generate`: which migrations, where to, and what is told of it.
//!
//! Nothing here touches a file.

use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use idem_runtime::migrations::{
    FILES_INBOX_MYSQL, FILES_INBOX_POSTGRES, FILES_INBOX_SQLITE, FILES_MYSQL, FILES_OUTBOX_MYSQL,
    FILES_OUTBOX_POSTGRES, FILES_OUTBOX_SQLITE, FILES_POSTGRES, FILES_SQLITE, MigrationFile,
};

use crate::args::{Backend, Generate, Part};
use crate::defaults;
use crate::error::Error;
use crate::generate::{self, Outcome};

/// The migrations of one backend.
pub(crate) struct Migrations {
    pub(crate) keys: &'static [MigrationFile],
    pub(crate) outbox: &'static [MigrationFile],
    pub(crate) inbox: &'static [MigrationFile],
}

impl Migrations {
    pub(crate) const fn of(backend: Backend) -> Self {
        let (keys, outbox, inbox) = match backend {
            Backend::Postgres => (FILES_POSTGRES, FILES_OUTBOX_POSTGRES, FILES_INBOX_POSTGRES),
            Backend::Mysql => (FILES_MYSQL, FILES_OUTBOX_MYSQL, FILES_INBOX_MYSQL),
            Backend::Sqlite => (FILES_SQLITE, FILES_OUTBOX_SQLITE, FILES_INBOX_SQLITE),
        };
        Self {
            keys,
            outbox,
            inbox,
        }
    }
}

pub(crate) fn generate(wanted: Generate) -> Result<ExitCode, Error> {
    let backend = defaults::backend(wanted.backend)?;
    let dir = defaults::migrations(wanted.dir)?;
    let mut all_in_place = true;
    let mut report = |path: &Path, outcome: Outcome| {
        all_in_place &= matches!(outcome, Outcome::Created | Outcome::Unchanged);
        tell(path, outcome);
    };
    generate::generate(&chosen(backend, &wanted.with), &dir, &mut report)?;
    if wanted.with.contains(&Part::Steps) {
        let _ = writeln!(
            stdout(),
            "steps      have no table of their own: they stand in idempotency_keys"
        );
    }
    Ok(match all_in_place {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Those of the keys, and those of the parts that are wanted.
fn chosen(backend: Backend, with: &[Part]) -> Vec<MigrationFile> {
    let of = Migrations::of(backend);
    let mut chosen = of.keys.to_vec();
    for part in with {
        chosen.extend(match part {
            Part::Outbox => of.outbox,
            Part::Inbox => of.inbox,
            // In the second migration of the keys.
            Part::Steps => &[],
        });
    }
    chosen
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
