//! `cargo xtask`: what a person and CI both run. Commands only; product code never lives here. A library too, so that
//! tests that kill a server of their own start it as the commands do.

mod bench;
mod binaries;
mod bouncer;
mod chromium;
mod cluster;
mod deny;
mod features;
mod fuzz;
mod galera;
mod license;
mod lint;
mod mariadb;
mod mortal;
mod nats;
mod packages;
mod place;
mod process;
mod rabbit;
mod service;
mod soak;
mod supervisor;
mod test;
mod torture;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use chromium::ChromeDriver;
pub use cluster::{Cluster, Purpose};
pub use galera::{Galera, Reads};
pub use mariadb::MariaDb;
pub use nats::Nats;
pub use rabbit::Rabbit;

/// What a command of ours returns: nothing, or what went wrong in words.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

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
    /// Every test, feature set and package. Starts a private PostgreSQL, MariaDB, NATS and RabbitMQ, each unless its
    /// variable names one: IDEM_TEST_POSTGRES_URL, IDEM_TEST_MYSQL_URL, IDEM_TEST_NATS_URL, IDEM_TEST_AMQP_URL.
    /// IDEM_TEST_CHROMEDRIVER is the path of another ChromeDriver than that of the system; where there is none the tests in a
    /// browser are left out, and that is said
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
    /// The contract suite through PgBouncer in transaction mode, in front of a private PostgreSQL
    Pgbouncer {
        /// Arguments for `cargo test`; without any, all of the suite that is for PostgreSQL runs
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Concurrency and crashes on a Galera cluster of three private MariaDB nodes
    Galera {
        /// Arguments for the tests, such as a name; without any, the parts of the contract suite run as well
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Clippy and the docs, warnings denied, with every feature that can be built here
    Lint,
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
    /// Many clients against applications and databases that are killed, cut, delayed and restarted; the history is in
    /// target/torture. Takes the arguments of `idem-torture`, such as `--minutes 1 --seed 7`
    #[command(disable_help_flag = true)]
    Torture {
        /// Arguments for `idem-torture`; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Ordinary clients for a long time, and memory, handles, connections and tables that must not grow; samples are in
    /// target/soak. Takes the arguments of `idem-soak`, such as `--minutes 30`
    #[command(disable_help_flag = true)]
    Soak {
        /// Arguments for `idem-soak`; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// A private PostgreSQL, kept until Ctrl-C: set the printed variable and call `cargo test` yourself
    Postgres,
}

/// The command line.
pub fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test { arguments } => test::run(&arguments),
        Command::Bench { arguments } => bench::run(&arguments),
        Command::Pgbouncer { arguments } => bouncer::run(&arguments),
        Command::Galera { arguments } => galera::run(&arguments),
        Command::Lint => lint::check(),
        Command::Deny => deny::check(),
        Command::Fuzz {
            seconds,
            target,
            optional,
        } => fuzz::run_each(seconds, target.as_deref(), optional),
        Command::Torture { arguments } => torture::run(&arguments),
        Command::Soak { arguments } => soak::run(&arguments),
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
