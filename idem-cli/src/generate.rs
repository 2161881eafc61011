//! Puts migrations into a directory as diesel reads them, `DIR/<name>/{up,down}.sql`: what is missing
//! is added, and what is there is never touched.
//!
//! Nothing here prints.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use idem_runtime::migrations::MigrationFile;

/// What became of one path.
pub(crate) enum Outcome {
    /// It was missing and is there now.
    Created,
    /// It was there, with our text.
    Unchanged,
    /// It was there with another text, and still is.
    Differs,
    /// This directory has the version of our migration of that name, which was not written.
    VersionTaken(&'static str),
}

/// What could not be done, where, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub(crate) struct Error {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Adds the migrations to the directory and reports each path as soon as it is dealt with.
pub(crate) fn generate(
    migrations: &[MigrationFile],
    dir: &Path,
    report: &mut dyn FnMut(&Path, Outcome),
) -> Result<(), Error> {
    create_dir(dir)?;
    for migration in migrations {
        if let Some(taken) = with_same_version(dir, migration.name)? {
            report(&taken, Outcome::VersionTaken(migration.name));
            continue;
        }
        let home = dir.join(migration.name);
        create_dir(&home)?;
        // Diesel takes a migration without down.sql for one that cannot be reverted, and refuses one
        // without up.sql. If we are stopped in between, the latter is the better thing to find.
        for (file, text) in [("down.sql", migration.down), ("up.sql", migration.up)] {
            let path = home.join(file);
            let outcome = add(&path, text)?;
            report(&path, outcome);
        }
    }
    Ok(())
}

fn create_dir(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(while_trying("create the directory", dir))
}

/// Another directory that diesel would take for the migration of this name.
fn with_same_version(dir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let failed = || while_trying("list the directory", dir);
    for entry in fs::read_dir(dir).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let other = entry.file_name();
        let other = other.to_string_lossy();
        if other != name && version(&other) == version(name) && entry.path().is_dir() {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Diesel's reading of a directory's name.
pub(crate) fn version(name: &str) -> String {
    let version = name.split('_').next().unwrap_or_default();
    version.replace('-', "")
}

fn add(path: &Path, text: &str) -> Result<Outcome, Error> {
    if !fs::exists(path).map_err(while_trying("look for", path))? {
        match write_new(path, text) {
            Ok(()) => return Ok(Outcome::Created),
            // Somebody was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(while_trying("write", path)(error)),
        }
    }
    let found = fs::read(path).map_err(while_trying("read", path))?;
    // By lines: a checkout may have changed the line endings.
    Ok(match std::str::from_utf8(&found) {
        Ok(found) if found.lines().eq(text.lines()) => Outcome::Unchanged,
        _ => Outcome::Differs,
    })
}

/// The whole file or none, and never over another one.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".idem-");
    // A temporary file is private by default; these are the rights of any other new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(())
}

fn while_trying(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error {
        action,
        path,
        source,
    }
}
