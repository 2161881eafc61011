//! What `idem migration generate` writes goes through the real `diesel` command: run, redone, and found well by the
//! doctor. `IDEM_TEST_DIESEL` names it, else it is looked for on the path.

use std::env;
use std::process::Command;

use crate::common::Said;
use crate::common::place::{Place, name};
use idem_tests::Backend;

fn diesel() -> String {
    env::var("IDEM_TEST_DIESEL").unwrap_or_else(|_| "diesel".to_owned())
}

async fn run_and_redone(backend: Backend) {
    if Command::new(diesel()).arg("--version").output().is_err() {
        eprintln!("skipped: there is no `diesel` command (cargo install diesel_cli)");
        return;
    }
    let place = Place::empty(backend).await;
    let args = ["--backend", name(backend), "--with", "outbox,inbox,steps"];
    crate::common::generate(place.path(), &args);
    let url = place.database.url();
    let url = url.strip_prefix("sqlite://").unwrap_or(url);
    let diesel = |args: &[&str]| {
        let mut command = Command::new(diesel());
        command
            .arg("migration")
            .args(args)
            .args(["--database-url", url]);
        Said::of(command.current_dir(place.path()).output().unwrap()).done()
    };
    for args in [&["run"][..], &["redo", "--all"], &["run"]] {
        diesel(args);
        let report = place.idem(&["doctor", "--json"]).done().json();
        let checks = report["checks"].as_array().unwrap();
        let migrations = checks
            .iter()
            .find(|found| found["check"] == "migrations")
            .unwrap();
        assert_eq!(migrations["says"], "4 of ours are recorded", "{args:?}");
    }
    diesel(&["revert", "--all"]);
    assert_eq!(place.idem(&["doctor"]).code, 1);
    place.discard().await;
}

#[tokio::test]
async fn on_postgres() {
    run_and_redone(Backend::Postgres).await;
}

#[tokio::test]
async fn on_mysql() {
    run_and_redone(Backend::Mysql).await;
}

#[tokio::test]
async fn on_sqlite() {
    run_and_redone(Backend::Sqlite).await;
}
