//! The audit line of a command that changes something: who, when, what, which row. One JSON object on standard error,
//! and in a file if one is named. It holds digests and ids, never a key.

use std::fs::{File, OpenOptions};
use std::io::{self, Write, stderr};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use idem_runtime::{Backend, inspect};
use serde::Serialize;

use crate::error::Error;
use crate::signals::Held;

pub(crate) struct Audit {
    command: &'static str,
    file: Option<(PathBuf, File)>,
    held: Held,
}

#[derive(Serialize)]
struct Line<'a> {
    audit: &'static str,
    /// By the database's clock; null if it was not to be had any more.
    at: Option<String>,
    user: Option<String>,
    command: &'a str,
    row: Option<&'a str>,
    rows: Option<u64>,
    outcome: &'a str,
}

/// What became of the change.
pub(crate) struct Change<'a> {
    /// Which row: its id.
    pub(crate) row: Option<&'a str>,
    /// How many rows, where it is not about one.
    pub(crate) rows: Option<u64>,
    pub(crate) outcome: &'a str,
}

/// Whether the line stands in the file, if there is one.
#[must_use = "nobody has been told that it is missing"]
pub(crate) struct Written(Option<Unwritten>);

/// A line that is missing in its file.
#[derive(Debug, thiserror::Error)]
#[error("not written down in {}: {source}: {line}", path.display())]
pub(crate) struct Unwritten {
    path: PathBuf,
    source: io::Error,
    line: String,
}

impl Audit {
    /// Before anything is changed: what cannot be written down is not done. No signal ends the process from here on.
    pub(crate) fn open(command: &'static str, path: Option<PathBuf>) -> Result<Self, Error> {
        let open = |path: PathBuf| match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(Error::File { path, source }),
        };
        Ok(Self {
            held: Held::new()?,
            command,
            file: path.map(open).transpose()?,
        })
    }

    /// Whether somebody would have the process end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.held.is_any()
    }

    pub(crate) async fn write<C: Backend>(self, conn: &mut C, change: Change<'_>) -> Written {
        let now = inspect::clock(conn).await.ok();
        let line = Line {
            audit: "idem",
            at: now.map(|now| humantime::format_rfc3339_millis(UNIX_EPOCH + now).to_string()),
            user: whoami::username().ok(),
            command: self.command,
            row: change.row,
            rows: change.rows,
            outcome: change.outcome,
        };
        let line = serde_json::to_string(&line).unwrap_or_default();
        let _ = writeln!(stderr(), "{line}");
        Written(self.file.and_then(|(path, mut file)| {
            // At once, so that no other command's line comes in between.
            let written = file.write_all(format!("{line}\n").as_bytes());
            let source = written.err()?;
            Some(Unwritten { path, source, line })
        }))
    }
}

impl Written {
    /// Tells how the command went. What was done is told as done, whether it is written down or not.
    pub(crate) fn behind<T>(
        self,
        done: Result<T, Error>,
        tell: impl FnOnce(T),
    ) -> Result<(), Error> {
        match (done, self.0) {
            (Ok(done), None) => tell(done),
            (Ok(done), Some(unwritten)) => {
                tell(done);
                return Err(Error::Unwritten(unwritten));
            }
            (Err(error), unwritten) => {
                if let Some(unwritten) = unwritten {
                    let _ = writeln!(stderr(), "idem: {unwritten}");
                }
                return Err(error);
            }
        }
        Ok(())
    }
}
