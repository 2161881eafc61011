//! `cargo xtask torture`: what is built and started for it. What is done to it, and how, is the crate `torture`'s
//! business.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::binaries;
use crate::cluster::{Cluster, Purpose};
use crate::process::{self, build, target, workspace};
use crate::test::URL;

/// A directory that the driver finds `postmaster.pid` in: whom to kill. The server is started again by itself.
const DATA: &str = "IDEM_TORTURE_POSTGRES_DATA";

pub(crate) fn run(arguments: &[String]) -> Outcome {
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
    binaries::offer_faketime();
    let mut driver = Command::new(target().join("debug/idem-torture"));
    if is_seeded {
        driver.arg("--app").arg(seeded().join("debug/idem-testapp"));
    }
    driver.args(arguments).current_dir(workspace());
    if needs_no_server(arguments) {
        return process::run(&mut driver);
    }
    // Always a server of our own: nobody else's may be killed.
    let cluster = Cluster::start(Purpose::Torture)?;
    driver.env(URL, cluster.url()).env(DATA, cluster.data());
    process::run(&mut driver)
}

/// The driver judges its arguments itself; here they only say whether anybody would ask the server.
fn needs_no_server(arguments: &[String]) -> bool {
    let is_sqlite = arguments.iter().any(|one| one == "--backend=sqlite");
    let is_help = |one: &String| one == "--help" || one == "-h";
    is_sqlite
        || arguments
            .windows(2)
            .any(|pair| pair == ["--backend", "sqlite"])
        || arguments.iter().any(is_help)
}

/// Where the application with its seeded defects is, apart from the one that has none.
fn seeded() -> PathBuf {
    target().join("defects")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_alone_needs_no_server() {
        let needs = |line: &str| {
            let arguments: Vec<_> = line.split_whitespace().map(String::from).collect();
            !needs_no_server(&arguments)
        };
        assert!(needs(""));
        assert!(needs("--seed 7 --backend postgres"));
        assert!(needs("--backend both"));
        assert!(!needs("--seed 7 --backend sqlite --seconds 5"));
        assert!(!needs("--backend=sqlite"));
        assert!(!needs("--help"));
    }
}
