//! `cargo xtask soak`: what is built and started for it. What is done and measured is the crate `torture`'s business.

use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::features;
use crate::mortal::MortalMariaDb;
use crate::process::{self, build, target, workspace};
use crate::test::{MYSQL, URL};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    process::run(&mut features::test_application()?)?;
    process::run(&mut build("idem-torture", "idem-soak"))?;
    // Always servers of our own: their housekeeping is part of what is looked at.
    let cluster = Cluster::start(Purpose::Tests)?;
    let maria = MortalMariaDb::start(None)?;
    process::run(
        Command::new(target().join("debug/idem-soak"))
            .args(arguments)
            .env(URL, cluster.url())
            .env(MYSQL, maria.url())
            .current_dir(workspace()),
    )
}
