//! `cargo xtask torture`: what is built and started for it. What is done to it, and how, is the crate `torture`'s
//! business.

use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::process::{self, cargo, target, workspace};
use crate::test::URL;

/// A directory that the driver finds `postmaster.pid` in: whom to kill. The server is started again by itself.
const DATA: &str = "IDEM_TORTURE_POSTGRES_DATA";

pub(crate) fn run(arguments: &[String]) -> Outcome {
    // One at a time: together, the application would be built with what only the driver needs.
    process::run(&mut build("idem-tests", "idem-testapp"))?;
    process::run(&mut build("idem-torture", "idem-torture"))?;
    // Always a server of our own: nobody else's may be killed.
    let cluster = Cluster::start(Purpose::Torture)?;
    process::run(
        Command::new(target().join("debug/idem-torture"))
            .args(arguments)
            .env(URL, cluster.url())
            .env(DATA, cluster.data())
            .current_dir(workspace()),
    )
}

fn build(package: &str, program: &str) -> Command {
    cargo(["build", "--package", package, "--bin", program])
}
