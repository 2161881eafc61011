//! `idem-bench`: measures what protection costs, and writes a report. Figures are in `figures/`, one file each; what
//! they are measured with is beside this file. Product code never lives here.

mod bench;
mod delayed;
mod figure;
mod figures;
mod load;
mod machine;
mod options;
mod records;
mod report;
mod rounds;
#[cfg(test)]
mod smoke;
mod traffic;

use std::process::ExitCode;

use clap::Parser;

use bench::Bench;
use options::Options;
use report::Report;

/// What everything of ours returns: a value, or what went wrong in words.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("idem-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Outcome {
    let bench = Bench::new(options)?;
    if !machine::is_durable(&bench).await? {
        return Err(
            "fsync or synchronous_commit is off, or the server's files are in memory: the figures would be of something else".into(),
        );
    }
    let machine = machine::describe(&bench).await?;
    let mut report = Report::new(machine);
    let output = bench.output()?;
    for name in bench.options.figures()? {
        eprintln!("idem-bench: {name}");
        report.add(figures::measure(name, &bench).await?);
        // After each, so that what took long is not lost when a later one fails.
        report.write(&output)?;
    }
    println!("{}", report.table());
    println!("idem-bench: written to {}", output.display());
    Ok(())
}
