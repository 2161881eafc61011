//! `cargo xtask torture`: what is built and started for it. What is done to it, and how, is the crate `torture`'s
//! business.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::binaries;
use crate::cluster::{Cluster, Purpose};
use crate::features;
use crate::mortal::MortalMariaDb;
use crate::process::{self, build, target, workspace};
use crate::test::{MYSQL, URL};

/// A directory that the driver finds `postmaster.pid` in: whom to kill. The server is started again by itself.
const POSTGRES_DATA: &str = "IDEM_TORTURE_POSTGRES_DATA";
/// The same of MariaDB is a file that names its process; and the one that its clock is told by.
const MYSQL_PID: &str = "IDEM_TORTURE_MYSQL_PID";
const MYSQL_CLOCK: &str = "IDEM_TORTURE_MYSQL_CLOCK";
/// Set where the application has blocking handlers on MariaDB.
const MYSQL_BLOCKING: &str = "IDEM_TORTURE_MYSQL_BLOCKING";

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let is_seeded = arguments.iter().any(|one| one.starts_with("--defect"));
    if is_seeded {
        process::run(
            features::test_application()?
                .arg("--target-dir")
                .arg(seeded())
                .env("RUSTFLAGS", "--cfg idem_defects"),
        )?;
    } else {
        process::run(&mut features::test_application()?)?;
    }
    process::run(&mut build("idem-torture", "idem-torture"))?;
    let faketime = binaries::offer_faketime();
    let mut driver = Command::new(target().join("debug/idem-torture"));
    if is_seeded {
        driver.arg("--app").arg(seeded().join("debug/idem-testapp"));
    }
    driver.args(arguments).current_dir(workspace());
    // Always servers of our own: nobody else's may be killed.
    let _postgres = match needs(arguments, "postgres") {
        true => {
            let cluster = Cluster::start(Purpose::Torture)?;
            driver.env(URL, cluster.url());
            driver.env(POSTGRES_DATA, cluster.data());
            Some(cluster)
        }
        false => None,
    };
    let _mysql = match needs(arguments, "mysql") {
        true => {
            let maria = MortalMariaDb::start(faketime.as_deref())?;
            driver.env(MYSQL, maria.url());
            driver.env(MYSQL_PID, maria.pid_file());
            if features::can_be_built(features::MYSQL_BLOCKING) {
                driver.env(MYSQL_BLOCKING, "1");
            }
            driver.envs(maria.clock().map(|clock| (MYSQL_CLOCK, clock)));
            Some(maria)
        }
        false => None,
    };
    process::run(&mut driver)
}

/// Whether anybody would ask a server of this backend. The driver judges its arguments itself.
fn needs(arguments: &[String], backend: &str) -> bool {
    let is_help = |one: &String| one == "--help" || one == "-h";
    let mut words = arguments.iter();
    let mut picked = None;
    while let Some(word) = words.next() {
        match word.strip_prefix("--backend") {
            Some("") => picked = words.next().map(String::as_str),
            Some(behind) => picked = behind.strip_prefix('='),
            None => {}
        }
    }
    picked.is_none_or(|picked| picked == "all" || picked == backend)
        && !arguments.iter().any(is_help)
}

/// Where the application with its seeded defects is, apart from the one that has none.
fn seeded() -> PathBuf {
    target().join("defects")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_for_its_backend() {
        let needs = |line: &str| {
            let arguments: Vec<_> = line.split_whitespace().map(String::from).collect();
            ["postgres", "mysql", "sqlite"].map(|backend| needs(&arguments, backend))
        };
        assert_eq!(needs(""), [true; 3]);
        assert_eq!(needs("--backend all --seed 7"), [true; 3]);
        assert_eq!(needs("--seed 7 --backend postgres"), [true, false, false]);
        assert_eq!(needs("--backend=mysql --seconds 5"), [false, true, false]);
        assert_eq!(needs("--backend sqlite"), [false, false, true]);
        assert_eq!(needs("--help"), [false; 3]);
    }
}
