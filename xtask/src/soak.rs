//! `cargo xtask soak`: what is built and started for it. What is done and measured is the crate `torture`'s business.

use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::process::{self, build, target, workspace};
use crate::test::URL;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    process::run(&mut build("idem-tests", "idem-testapp"))?;
    process::run(&mut build("idem-torture", "idem-soak"))?;
    // Always a server of our own: its housekeeping is part of what is looked at.
    let cluster = Cluster::start(Purpose::Tests)?;
    process::run(
        Command::new(target().join("debug/idem-soak"))
            .args(arguments)
            .env(URL, cluster.url())
            .current_dir(workspace()),
    )
}
