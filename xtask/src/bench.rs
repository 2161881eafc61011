//! `cargo xtask bench`: what is built and started for it. What is measured, and how, is the crate `benches`'s business.

use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::process::{self, build, target, workspace};
use crate::test::URL;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    process::run(build("idem-tests", "idem-testapp").arg("--release"))?;
    process::run(build("idem-bench", "idem-bench").arg("--release"))?;
    // Always a server of our own, whatever the tests use: its settings are part of the figures.
    let cluster = Cluster::start(Purpose::Benchmarks)?;
    process::run(
        Command::new(target().join("release/idem-bench"))
            .args(arguments)
            .env(URL, cluster.url())
            .current_dir(workspace()),
    )
}
