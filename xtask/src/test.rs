//! `cargo xtask test`: the steps and their order. What a step does is in a file of its own, or cargo's business.

use std::env;
use std::process::Command;

use crate::Outcome;
use crate::cluster::{Cluster, Purpose};
use crate::nats::Nats;
use crate::packages;
use crate::process::{self, cargo};
use crate::rabbit::Rabbit;

pub(crate) const URL: &str = "IDEM_TEST_POSTGRES_URL";
pub(crate) const NATS: &str = "IDEM_TEST_NATS_URL";
pub(crate) const AMQP: &str = "IDEM_TEST_AMQP_URL";

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
    // Held until the tests are over: dropping one stops the server. RabbitMQ takes its time, and the tests that are for it
    // wait for it.
    let (amqp, rabbit) = given_or(AMQP, Rabbit::begin, Rabbit::url)?;
    let (nats, _nats) = given_or(NATS, Nats::start, Nats::url)?;
    let (url, _cluster) = given_or(URL, || Cluster::start(Purpose::Tests), Cluster::url)?;
    let mut command = cargo_test(extra);
    // What the tests listen on themselves is not behind anybody's proxy.
    let direct = "127.0.0.1,localhost";
    command.envs([("NO_PROXY", direct), ("no_proxy", direct)]);
    let outcome = process::run(command.envs([(URL, url), (NATS, nats), (AMQP, amqp)]));
    match (outcome, rabbit) {
        // Why it did not start explains more than what has failed for it.
        (Err(failed), Some(mut rabbit)) => rabbit.wait().and(Err(failed)),
        (outcome, _) => outcome,
    }
}

/// What the variable names, else a server of our own.
fn given_or<T>(
    variable: &str,
    start: impl FnOnce() -> Outcome<T>,
    url: impl FnOnce(&T) -> String,
) -> Outcome<(String, Option<T>)> {
    let given = env::var(variable).ok().filter(|url| !url.is_empty());
    if let Some(given) = given {
        return Ok((given, None));
    }
    let server = start()?;
    Ok((url(&server), Some(server)))
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
