//! The harness still works, on a real database, in no time: what comes out means nothing.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use clap::Parser;
use tokio::sync::Mutex;

use crate::bench::Bench;
use crate::figure::{Figure, Value};
use crate::options::Options;
use crate::report::Report;
use crate::{figures, machine};

const AS_LITTLE_AS_POSSIBLE: &[&str] = &["--quick", "--rounds", "1", "--seconds", "0.3"];

/// A side that is measured for so short a time has no answer in it where it shares the processor with all the others.
static TURN: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn throughput_is_measured_and_reported() {
    let _turn = TURN.lock().await;
    let bench = bench();
    let found = figures::measure("throughput", &bench).await.unwrap();
    assert!(found.iter().any(|figure| figure.target.is_some()));
    sound(&found);

    let mut report = Report::new(machine::describe(&bench).await.unwrap());
    report.add(found);
    let directory = tempfile::tempdir().unwrap();
    report.write(directory.path()).unwrap();
    for file in ["results.md", "results.json", "results.svg"] {
        assert!(directory.path().join(file).is_file(), "no {file}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_loads_find_what_they_expect() {
    let _turn = TURN.lock().await;
    let bench = bench();
    for name in ["replays", "network", "sqlite"] {
        sound(&figures::measure(name, &bench).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outbox_is_drained_into_both_brokers() {
    let _turn = TURN.lock().await;
    let found = figures::measure("outbox", &bench()).await.unwrap();
    sound(&found);
    for broker in ["NATS", "RabbitMQ"] {
        let is_of = |figure: &Figure| figure.group.ends_with(broker);
        assert!(found.iter().any(is_of), "nothing of {broker}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_is_told_409() {
    let _turn = TURN.lock().await;
    let found = figures::measure("storm", &bench()).await.unwrap();
    let refused = found.iter().find(|figure| figure.name == "answered 409");
    assert_eq!(refused.unwrap().is_met(), Some(true));
}

#[track_caller]
fn sound(figures: &[Figure]) {
    assert!(!figures.is_empty());
    for figure in figures {
        let Value::Ratio(spread) = &figure.value else {
            continue;
        };
        let is_ordered = spread.low <= spread.median && spread.median <= spread.high;
        assert!(is_ordered && spread.low > 0.0, "{figure:?}");
    }
}

fn bench() -> Bench {
    let arguments = ["idem-bench", "--testapp"].map(String::from);
    let testapp = testapp().to_str().unwrap().to_owned();
    let rest = AS_LITTLE_AS_POSSIBLE.iter().map(|word| (*word).to_owned());
    let options = arguments.into_iter().chain([testapp]).chain(rest);
    Bench::new(Options::parse_from(options)).unwrap()
}

/// Cargo builds it with the tests of the whole workspace, but not with ours alone.
fn testapp() -> PathBuf {
    let ours = env::current_exe().unwrap();
    let path = ours.ancestors().nth(2).unwrap().join("idem-testapp");
    if !path.is_file() {
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--package", "idem-tests", "--bin", "idem-testapp"]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
    }
    path
}
