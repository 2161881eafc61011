//! `cargo xtask bench`: what is built and started for it. What is measured, and how, is the crate `benches`'s business.

use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::process::{self, cargo, target, workspace};
use crate::test::URL;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    // One at a time: together, the application would be built with what only the benchmark needs.
    process::run(&mut build("idem-tests", "idem-testapp"))?;
    process::run(&mut build("idem-bench", "idem-bench"))?;
    // Always a server of our own, whatever the tests use: its settings are part of the figures.
    let cluster = Cluster::start(Purpose::Benchmarks)?;
    process::run(
        Command::new(target().join("release/idem-bench"))
            .args(arguments)
            .env(URL, cluster.url())
            .current_dir(workspace()),
    )
}

fn build(package: &str, program: &str) -> Command {
    cargo(["build", "--release", "--package", package, "--bin", program])
}
