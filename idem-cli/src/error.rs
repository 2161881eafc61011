//! Why a command did not do what it was asked for, and the exit code that says so.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::audit::Unwritten;

/// Why not.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// The command line, or what it leaves open, makes no sense.
    #[error("{0}")]
    Usage(String),
    /// What was asked for is not to be done, or was not confirmed.
    #[error("{0}")]
    Refused(String),
    #[error("the database cannot be reached: {0}")]
    Unreachable(#[source] diesel::ConnectionError),
    #[error("the database does not answer within {0} seconds")]
    Silent(u64),
    #[error("the database says: {0}")]
    Database(#[source] diesel::result::Error),
    /// Nothing of the statement is left.
    #[error(
        "given up: somebody else has held a lock that this needs for too long. Try again, or look for a transaction \
         that is left open"
    )]
    Locked(#[source] diesel::result::Error),
    #[error("done, but {0}")]
    Unwritten(#[source] Unwritten),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Config {
        path: PathBuf,
        source: toml::de::Error,
    },
    #[error("this process cannot wait for a database: {0}")]
    Runtime(#[source] io::Error),
    #[error(".env: {}", without_its_line(.0))]
    Env(#[source] dotenvy::Error),
    #[error("{0}")]
    Generate(#[from] crate::generate::Error),
    /// A server cannot be checked, or was not to be.
    #[error("{0}")]
    Unchecked(String),
    #[error("{0}")]
    Wire(#[from] crate::check::WireError),
}

impl Error {
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Self::Refused(_) | Self::Generate(_) | Self::File { .. } | Self::Locked(_) => {
                ExitCode::FAILURE
            }
            Self::Unwritten(_) => ExitCode::from(3),
            _ => ExitCode::from(2),
        }
    }
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        match is_lock_timeout(&error) {
            true => Self::Locked(error),
            false => Self::Database(error),
        }
    }
}

/// How PostgreSQL, MySQL and SQLite say that a lock was waited for in vain.
const LOCK_TIMEOUTS: [&str; 3] = [
    "canceling statement due to lock timeout",
    "Lock wait timeout exceeded",
    "database is locked",
];

/// Diesel has no kind for it: it is known by the servers' English messages.
pub(crate) fn is_lock_timeout(error: &diesel::result::Error) -> bool {
    let diesel::result::Error::DatabaseError(_, information) = error else {
        return false;
    };
    let message = information.message();
    LOCK_TIMEOUTS
        .iter()
        .any(|timeout| message.starts_with(timeout))
}

/// Lines of that file are full of secrets.
fn without_its_line(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, _) => "there is a line that cannot be read".to_owned(),
        other => other.to_string(),
    }
}
