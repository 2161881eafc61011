//! `cargo xtask`: what a person and CI both run. Commands only; product code never lives here.

mod bench;
mod binaries;
mod cluster;
mod deny;
mod fuzz;
mod license;
mod packages;
mod place;
mod process;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a command of ours returns: nothing, or what went wrong in words.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Set-up, test and benchmark commands of the project"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every test, feature set and package. Starts a private PostgreSQL unless IDEM_TEST_POSTGRES_URL is set
    Test {
        /// Arguments for `cargo test`; with any, only `cargo test` runs
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// What protection costs, measured on a private PostgreSQL and on SQLite; the report is in target/bench
    Bench {
        /// Arguments for `idem-bench`, such as `--quick`; `--help` lists them
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Licences, sources, bans and advisories of what is built in: by cargo-deny, as far as it is there
    Deny,
    /// Each fuzz target for a while; needs nightly and cargo-fuzz
    Fuzz {
        /// For how long each target runs
        #[arg(long, default_value_t = 20)]
        seconds: u32,
        /// Only this target
        #[arg(long)]
        target: Option<String>,
        /// What is missing is said, and is no failure
        #[arg(long)]
        optional: bool,
    },
    /// A private PostgreSQL, kept until Ctrl-C: set the printed variable and call `cargo test` yourself
    Postgres,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test { arguments } => test::run(&arguments),
        Command::Bench { arguments } => bench::run(&arguments),
        Command::Deny => deny::check(),
        Command::Fuzz {
            seconds,
            target,
            optional,
        } => fuzz::run_each(seconds, target.as_deref(), optional),
        Command::Postgres => cluster::keep(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
