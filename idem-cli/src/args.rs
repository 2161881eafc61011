//! The command line as a person types it. Nothing here acts on it.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use idem_runtime::inspect::OperationState;
use uuid::Uuid;

/// Tools for applications that use idem-runtime, and for those who operate them.
///
/// Exit codes: 0 all is well; 1 something was found, or was not done; 2 a wrong command line, or a
/// database or server that does not answer; 3 it was done, but could not be written down in the file of --audit.
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
    /// Check whether a server keeps the contract: any server, over HTTP.
    ///
    /// Sends real requests, which have real effects there. Exit codes: 0 it conforms, as far as it was
    /// checked; 1 it does not; 2 it could not be checked.
    Check(Box<crate::check::Asked>),
    #[command(flatten)]
    Database(OnDatabase),
}

/// What needs a connection.
#[derive(Debug, Subcommand)]
pub(crate) enum OnDatabase {
    /// Check a database: its schema, what is stuck in it, and what is risky.
    ///
    /// The exit code is 1 if there is a finding.
    Doctor(Doctor),
    /// Operations, by their keys.
    #[command(subcommand)]
    Keys(Keys),
    /// Delete expired records.
    Prune(Prune),
    /// Messages that the outbox has given up.
    #[command(subcommand)]
    Outbox(Outbox),
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
    /// The database that the migrations are for. As DATABASE_URL says, unless it is given here.
    #[arg(long, value_enum)]
    pub(crate) backend: Option<Backend>,
    /// The directory of diesel migrations; created if it is missing. As MIGRATION_DIRECTORY or diesel.toml
    /// say, else `migrations`.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// What else the application uses.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub(crate) with: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Messages to other systems, queued in the handler's transaction
    Outbox,
    /// Which messages a consumer has worked on
    Inbox,
    /// Steps of lease mode; they have no table of their own
    Steps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// PostgreSQL
    Postgres,
    /// MySQL and MariaDB
    Mysql,
    /// SQLite
    Sqlite,
}

/// Where, and how to say it.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// `postgres://..`, `mysql://..`, or a SQLite file. DATABASE_URL, also in `.env`, unless it is given here.
    #[arg(long, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a command that changes something asks for.
#[derive(Debug, clap::Args)]
pub(crate) struct Changing {
    /// Do not ask. Without a terminal this is the only way.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Add the audit line to this file, besides standard error. If the line cannot be written behind the
    /// change, the exit code is 3.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) target: Target,
    /// From which verdict on the exit code is 1.
    #[arg(long, value_enum, default_value = "warning", value_name = "VERDICT")]
    pub(crate) fail_on: FailOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Warning,
    Failure,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// List operations, in the order of their ids.
    List(ListKeys),
    /// Show one operation.
    Show(ShowKey),
    /// Let an unresolved operation be run again by its next retry, once.
    ///
    /// It was not done: nothing of it happened outside of its finished steps, which stay finished.
    Release(ReleaseKey),
    /// Record the response of an unresolved operation, which is its answer from then on.
    Settle(SettleKey),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListKeys {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Those of this scope, such as `account:alice`.
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Those of this endpoint, such as `POST /orders`.
    #[arg(long)]
    pub(crate) endpoint: Option<String>,
    /// Those in this state.
    #[arg(long, value_enum)]
    pub(crate) state: Option<State>,
    /// How many at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Those behind this id, with which the page before ended.
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<Uuid>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// Its response is recorded, and replayed
    Recorded,
    /// Its response is not replayed any more
    Expired,
    /// Lease mode: somebody is working on it
    Running,
    /// Lease mode: nobody knows how it ended
    Unresolved,
    /// Without a record, and claimed by nobody
    Stuck,
}

impl From<State> for OperationState {
    fn from(state: State) -> Self {
        match state {
            State::Recorded => Self::Recorded,
            State::Expired => Self::Expired,
            State::Running => Self::Running,
            State::Unresolved => Self::Unresolved,
            State::Stuck => Self::Stuck,
        }
    }
}

/// Which operation.
#[derive(Debug, clap::Args)]
pub(crate) struct Name {
    /// Its scope as it stands in the table, such as `account:alice`.
    pub(crate) scope: String,
    /// The client's key.
    pub(crate) key: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowKey {
    #[command(flatten)]
    pub(crate) name: Name,
    #[command(flatten)]
    pub(crate) target: Target,
    /// Show the headers and the body of the recorded response too.
    #[arg(long)]
    pub(crate) body: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReleaseKey {
    #[command(flatten)]
    pub(crate) name: Name,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SettleKey {
    #[command(flatten)]
    pub(crate) name: Name,
    /// The status of the response.
    #[arg(long, value_parser = clap::value_parser!(u16).range(200..=599))]
    pub(crate) status: u16,
    /// A header of the response, `name: value`; any number of them.
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// The file with the body of the response; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
    /// How long it is honoured from now on, such as `24h`.
    #[arg(long, value_name = "TIME", value_parser = retain)]
    pub(crate) retain: std::time::Duration,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) changing: Changing,
    /// Records that one transaction deletes.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) batch: u32,
    /// How long to leave the database to others between two of them.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = humantime::parse_duration)]
    pub(crate) pause: std::time::Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Outbox {
    /// List dead messages, in their order.
    List(ListMessages),
    /// Have a dead message sent after all.
    Retry(OneMessage),
    /// Forget a dead message for good.
    Drop(OneMessage),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListMessages {
    #[command(flatten)]
    pub(crate) target: Target,
    /// How many at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Those behind this position, with which the page before ended.
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<i64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OneMessage {
    /// The message's id.
    pub(crate) id: Uuid,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

/// As in the attribute: nothing whose length depends on the calendar, and not nothing.
fn retain(text: &str) -> Result<std::time::Duration, String> {
    let mut units = text.split(|sign: char| !sign.is_alphabetic());
    let is_dated = units.any(|unit| ["M", "month", "months", "y", "year", "years"].contains(&unit));
    match humantime::parse_duration(text) {
        _ if is_dated => Err("months and years are not always as long: say days".to_owned()),
        Ok(std::time::Duration::ZERO) => Err("that would be forgotten at once".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}
