//! The audit line of a command that changes something: who, when, what, which row. One JSON object on standard error,
//! and in a file if one is named. It holds digests and ids, never a key.

use std::fs::{File, OpenOptions};
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use idem_runtime::{Backend, inspect};
use serde::Serialize;

use crate::error::Error;

pub(crate) struct Audit {
    command: &'static str,
    file: Option<(PathBuf, File)>,
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

impl Audit {
    /// Before anything is changed: what cannot be written down is not done.
    pub(crate) fn open(command: &'static str, path: Option<PathBuf>) -> Result<Self, Error> {
        let open = |path: PathBuf| match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(Error::File { path, source }),
        };
        let file = path.map(open).transpose()?;
        Ok(Self { command, file })
    }

    pub(crate) async fn write<C: Backend>(
        self,
        conn: &mut C,
        change: Change<'_>,
    ) -> Result<(), Error> {
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
        if let Some((path, mut file)) = self.file {
            writeln!(file, "{line}").map_err(|source| Error::File { path, source })?;
        }
        Ok(())
    }
}
