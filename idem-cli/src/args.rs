//! The command line as a person types it. Nothing here acts on it.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Tools for applications that use idem-runtime.
#[derive(Debug, Parser)]
#[command(name = "idem", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The tables that idem-runtime keeps in the application's database.
    #[command(subcommand)]
    Migration(Migration),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Migration {
    /// Write the migrations into a directory of diesel migrations.
    ///
    /// Adds what is missing and overwrites nothing. A file that is there with another text is kept
    /// and reported, and the exit code is 1. Then run `diesel migration run`.
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The database that the migrations are for.
    #[arg(long, value_enum)]
    pub(crate) backend: Backend,
    /// The directory of diesel migrations; created if it is missing.
    #[arg(long, value_name = "DIR", default_value = "migrations")]
    pub(crate) dir: PathBuf,
    /// What else the application uses.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub(crate) with: Vec<Part>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Part {
    /// Messages to other systems, queued in the handler's transaction
    Outbox,
    /// Which messages a consumer has worked on
    Inbox,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Backend {
    /// PostgreSQL
    Postgres,
    /// MySQL and MariaDB
    Mysql,
    /// SQLite
    Sqlite,
}
