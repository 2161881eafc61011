//! `cargo xtask test`: the steps and their order. What a step does is in a file of its own, or cargo's business.

use std::env;
use std::process::Command;

use crate::Outcome;
use crate::binaries::offer_chromedriver;
use crate::cluster::{Cluster, Purpose};
use crate::features;
use crate::mariadb::MariaDb;
use crate::nats::Nats;
use crate::packages;
use crate::process::{self, cargo};
use crate::rabbit::Rabbit;

pub(crate) const URL: &str = "IDEM_TEST_POSTGRES_URL";
pub(crate) const MYSQL: &str = "IDEM_TEST_MYSQL_URL";
pub(crate) const NATS: &str = "IDEM_TEST_NATS_URL";
pub(crate) const AMQP: &str = "IDEM_TEST_AMQP_URL";
pub(crate) const CHROMEDRIVER: &str = "IDEM_TEST_CHROMEDRIVER";
/// Without a ChromeDriver and without this, the tests in a browser fail.
const NO_BROWSER: &str = "IDEM_TEST_NO_BROWSER";

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
    let mut command = cargo_test(extra)?;
    // Held until the tests are over: dropping one stops the server.
    let (url, _cluster) = given_or(URL, || Cluster::start(Purpose::Tests), Cluster::url)?;
    command.env(URL, url);
    let _maria = match needs(extra, WITH_MYSQL) {
        true => {
            let (mysql, server) = given_or(MYSQL, MariaDb::start, MariaDb::url)?;
            command.env(MYSQL, mysql);
            server
        }
        false => None,
    };
    let _brokers = match needs(extra, WITH_BROKERS) {
        true => {
            let (nats, nats_server) = given_or(NATS, Nats::start, Nats::url)?;
            let (amqp, rabbit_server) = given_or(AMQP, Rabbit::start, Rabbit::url)?;
            command.envs([(NATS, nats), (AMQP, amqp)]);
            Some((nats_server, rabbit_server))
        }
        false => None,
    };
    if needs(extra, IN_A_BROWSER) {
        if let Some(program) = offer_chromedriver() {
            command.env(CHROMEDRIVER, program);
        } else {
            command.env(NO_BROWSER, "1");
            println!(
                "xtask: no Chromium with ChromeDriver found: the checkout page is NOT tested. Install it:  \
                 sudo apt-get install -y chromium chromium-driver  (or set {CHROMEDRIVER})"
            );
        }
    }
    // What the tests listen on themselves is not behind anybody's proxy.
    let direct = "127.0.0.1,localhost";
    command.envs([("NO_PROXY", direct), ("no_proxy", direct)]);
    process::run(&mut command)
}

/// Tests of a package.
type Tests = (&'static str, &'static [&'static str]);

/// Those that ask for the shared brokers.
const WITH_BROKERS: &[Tests] = &[("idem-tests", &["brokers"])];

/// Those that ask for a MySQL or MariaDB.
const WITH_MYSQL: &[Tests] = &[
    ("idem-tests", &["client", "contract", "settings"]),
    ("idem-cli", &["idem"]),
];

/// Those that drive a browser.
const IN_A_BROWSER: &[Tests] = &[("orders", &["browser"])];

/// Whether one of these tests is among what runs.
fn needs(extra: &[String], all: &[Tests]) -> bool {
    let is_picked = |picked: Option<Vec<&str>>, names: &[&str]| {
        picked.is_none_or(|all| all.iter().any(|picked| names.contains(picked)))
    };
    all.iter().any(|(package, tests)| {
        is_picked(packages_of(extra), &[package])
            && is_picked(picked(extra, &["--test"], &["--test="]), tests)
    })
}

fn packages_of(extra: &[String]) -> Option<Vec<&str>> {
    picked(extra, &["-p", "--package"], &["-p", "--package="])
}

/// What cargo is told with an option, in the next word or behind a prefix in the same one; `None` where it is not.
fn picked<'a>(extra: &'a [String], options: &[&str], prefixes: &[&str]) -> Option<Vec<&'a str>> {
    let words = extra.iter().map(String::as_str);
    let mut words = words.take_while(|word| *word != "--");
    let mut picked = Vec::new();
    while let Some(word) = words.next() {
        if options.contains(&word) {
            picked.extend(words.next());
        } else {
            picked.extend(prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)));
        }
    }
    (!picked.is_empty()).then_some(picked)
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

fn cargo_test(extra: &[String]) -> Outcome<Command> {
    let packages = packages_of(extra);
    let mut command = cargo(["test"]);
    command.args(features::flags(packages.as_deref())?);
    if packages.is_none() {
        command.arg("--workspace");
    }
    if extra.is_empty() {
        command.arg("--no-fail-fast");
    }
    command.args(extra);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs_for(line: &str, tests: &[Tests]) -> bool {
        let words: Vec<_> = line.split_whitespace().map(String::from).collect();
        needs(&words, tests)
    }

    #[test]
    fn brokers_are_for_the_tests_that_ask_for_them() {
        let needs = |line| needs_for(line, WITH_BROKERS);
        assert!(needs(""));
        assert!(needs("some_filter"));
        assert!(needs("-pidem-tests --tests"));
        assert!(needs("--package=idem-tests --test brokers -- nats"));
        assert!(needs("-p orders --package idem-tests --test=brokers"));
        assert!(needs("-- -p other"));
        assert!(!needs("-p other"));
        assert!(!needs("-pother"));
        assert!(!needs("-p orders -p idem-runtime -- idem-tests"));
        assert!(!needs("-p idem-tests --test contract -- brokers"));
        assert!(!needs("--test settings --test tidy"));
    }

    #[test]
    fn mariadb_is_for_the_tests_that_ask_for_it() {
        let needs = |line| needs_for(line, WITH_MYSQL);
        assert!(needs(""));
        assert!(needs("--test contract"));
        assert!(needs("--test brokers --test settings"));
        assert!(needs("-p idem-cli --test idem"));
        assert!(needs("-p idem-cli"));
        assert!(!needs("-p idem-cli --test contract"));
        assert!(!needs("--test brokers"));
        assert!(!needs("-p orders"));
    }

    #[test]
    fn chromium_is_for_the_tests_that_ask_for_it() {
        let needs = |line| needs_for(line, IN_A_BROWSER);
        assert!(needs(""));
        assert!(needs("-p orders"));
        assert!(needs("--test browser"));
        assert!(!needs("-p orders --test newcomer"));
        assert!(!needs("-p idem-tests"));
    }
}
