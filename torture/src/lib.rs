//! `idem-torture`: many clients, several processes of the test application and one database, all of which are harmed
//! for a while; then a checker says what they saw that they never should have. Harm is in `faults/`, what clients ask
//! for in `workloads/`, databases in `backends/`, one file each; what must be so is in `check/`. Product code never
//! lives here.

mod backends;
mod check;
mod client;
mod defects;
mod faults;
mod ground;
mod history;
mod host;
mod operator;
mod options;
mod plan;
mod proxy;
mod receiver;
mod report;
mod run;
mod slot;
mod soak;
mod trial;
mod workloads;

use std::process::ExitCode;

use clap::Parser;

use options::Options;

/// What everything of ours returns: a value, or what went wrong in words.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The program `idem-torture`.
pub async fn torture() -> ExitCode {
    let options = Options::parse();
    let outcome = harm(&options).await;
    host::leave();
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(violations) => {
            eprintln!("idem-torture: {violations} violations");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("idem-torture: {error}");
            ExitCode::from(2)
        }
    }
}

/// How many violations there are.
async fn harm(options: &Options) -> Outcome<usize> {
    options.check_names()?;
    host::join(&options.output()?)?;
    match options.defects {
        true => trial::all(options).await.map(|()| 0),
        false => run::all(options).await,
    }
}

/// The program `idem-soak`.
pub async fn soak() -> ExitCode {
    match soak::all(&soak::Options::parse()).await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("idem-soak: {failures} failures");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("idem-soak: {error}");
            ExitCode::from(2)
        }
    }
}
