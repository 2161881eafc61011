//! `cargo xtask test`: the steps and their order. What a step does is in a file of its own, or cargo's business.

use std::env;
use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::packages;
use crate::process::{self, cargo};

pub(crate) const URL: &str = "IDEM_TEST_POSTGRES_URL";

pub(crate) fn run(extra: &[String]) -> Outcome {
    let mut failures = Vec::new();
    let mut note = |outcome: Outcome| {
        if let Err(error) = outcome {
            eprintln!("xtask: {error}");
            failures.push(error.to_string());
        }
    };
    if extra.is_empty() {
        packages::feature_sets().for_each(&mut note);
        note(packages::package());
    }
    // Last, so that cargo's own closing lines are the last thing to read.
    note(tests(extra));
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("failed:\n  {}", failures.join("\n  ")).into())
}

fn tests(extra: &[String]) -> Outcome {
    let given = env::var(URL).ok().filter(|url| !url.is_empty());
    // Held until the tests are over: dropping it stops the server.
    let (url, _cluster) = match given {
        Some(url) => (url, None),
        None => {
            let cluster = Cluster::start(Purpose::Tests)?;
            (cluster.url(), Some(cluster))
        }
    };
    process::run(cargo_test(extra).env(URL, url))
}

fn cargo_test(extra: &[String]) -> Command {
    let mut command = cargo(["test", "--all-features"]);
    let picks = |argument: &String| argument.starts_with("-p") || argument.starts_with("--package");
    if !extra.iter().any(picks) {
        command.arg("--workspace");
    }
    if extra.is_empty() {
        command.arg("--no-fail-fast");
    }
    command.args(extra);
    command
}
