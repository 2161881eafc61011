//! Why a command did not do what it was asked for, and the exit code that says so.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

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
    Database(#[from] diesel::result::Error),
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
            Self::Refused(_) | Self::Generate(_) | Self::File { .. } => ExitCode::FAILURE,
            _ => ExitCode::from(2),
        }
    }
}

/// Lines of that file are full of secrets.
fn without_its_line(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, _) => "there is a line that cannot be read".to_owned(),
        other => other.to_string(),
    }
}
