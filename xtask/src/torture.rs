//! `cargo xtask torture`: what is built and started for it. What is done to it, and how, is the crate `torture`'s
//! business.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::process::{self, cargo, target, workspace};
use crate::test::URL;

/// A directory that the driver finds `postmaster.pid` in: whom to kill. The server is started again by itself.
const DATA: &str = "IDEM_TORTURE_POSTGRES_DATA";

pub(crate) fn run(arguments: &[String]) -> Outcome {
    // One at a time: together, the application would be built with what only the driver needs.
    let is_seeded = arguments.iter().any(|one| one.starts_with("--defect"));
    if is_seeded {
        process::run(
            build("idem-tests", "idem-testapp")
                .arg("--target-dir")
                .arg(seeded())
                .env("RUSTFLAGS", "--cfg idem_defects"),
        )?;
    } else {
        process::run(&mut build("idem-tests", "idem-testapp"))?;
    }
    process::run(&mut build("idem-torture", "idem-torture"))?;
    // Always a server of our own: nobody else's may be killed.
    let cluster = Cluster::start(Purpose::Torture)?;
    let mut driver = Command::new(target().join("debug/idem-torture"));
    if is_seeded {
        driver.arg("--app").arg(seeded().join("debug/idem-testapp"));
    }
    process::run(
        driver
            .args(arguments)
            .env(URL, cluster.url())
            .env(DATA, cluster.data())
            .current_dir(workspace()),
    )
}

/// Where the application with its seeded defects is, apart from the one that has none.
fn seeded() -> PathBuf {
    target().join("defects")
}

fn build(package: &str, program: &str) -> Command {
    cargo(["build", "--package", package, "--bin", program])
}
