//! `idem check` against servers that keep the contract, and against servers that do not, over real sockets.

mod defects;
mod doubtful;
mod ours;
mod output;
mod profiles;
mod refusals;
mod secure;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Stdio;

use idem_tests::broken::{Defect, Running, Shop, configure};
use serde_json::Value;
use tempfile::{TempDir, tempdir};
use tokio::process::Command;

use crate::common::place::{Place, on_each};
use crate::common::{Said, command, shop};

const ALICE: &str = "Authorization: Bearer alice:hunter2";
const BOB: &str = "Authorization: Bearer bob:hunter2";

/// All that a check can be given, for a shop.
const EVERYTHING: &[&str] = &[
    "--timeout",
    "10s",
    "--other-header",
    BOB,
    "--other-body",
    r#"{"item": "coffee", "quantity": 2}"#,
    // Longer than the lease of a shop that takes claims over.
    "--slow-body",
    r#"{"item": "tea", "quantity": 1, "sleep_ms": 3000}"#,
    "--failing-body",
    r#"{"item": "tea", "quantity": 1, "fail": true}"#,
];

/// A shop that listens.
struct Server {
    running: Running,
    shop: Shop,
    /// Where it keeps its books; dropped behind the server.
    dir: TempDir,
}

impl Server {
    fn with(defect: Defect) -> Self {
        let dir = tempdir().unwrap();
        let path = dir.path().join("shop.db");
        let shop = Shop::open(defect, path.to_str().unwrap());
        let running = Running::start(configure(shop.clone()));
        Self { running, shop, dir }
    }

    fn orders(&self) -> String {
        orders(self.running.address())
    }

    /// With the usual body.
    async fn check(&self, options: &[&str]) -> Said {
        check(&self.orders(), options).await
    }

    /// With everything, effects included.
    async fn check_all(&self, options: &[&str]) -> Said {
        let url = self.orders();
        let all = [EVERYTHING, &["--count", &url], options].concat();
        self.check(&all).await
    }
}

fn orders(address: SocketAddr) -> String {
    format!("http://{address}/orders")
}

/// The command, while the test's own runtime goes on.
async fn check(url: &str, options: &[&str]) -> Said {
    run(url, &[&["--yes", "--header", ALICE], options].concat()).await
}

/// Without a word on who asks, or that it may.
async fn run(url: &str, options: &[&str]) -> Said {
    let usual = ["check", url, "--body", r#"{"item": "tea", "quantity": 1}"#];
    let dir = std::env::temp_dir();
    let mut command = Command::from(command(&dir, &[&usual, options].concat()));
    let output = command.stdin(Stdio::null()).output().await;
    let said = Said::of(output.unwrap());
    assert!(!said.out.contains("hunter2"), "{}", said.out);
    assert!(!said.err.contains("hunter2"), "{}", said.err);
    said
}

/// The ids of the checks, by outcome.
#[track_caller]
fn outcomes(said: &Said) -> BTreeMap<String, Vec<String>> {
    let mut outcomes = BTreeMap::<_, Vec<_>>::new();
    for check in said.json()["checks"].as_array().unwrap() {
        let text = |member: &str| check[member].as_str().unwrap().to_owned();
        outcomes
            .entry(text("outcome"))
            .or_default()
            .push(text("id"));
    }
    outcomes
}

/// What is said of one check.
#[track_caller]
fn row(said: &Said, id: &str) -> Value {
    let document = said.json();
    let rows = document["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id);
    row.unwrap_or_else(|| panic!("no {id}: {}", said.out))
        .clone()
}

on_each! { what_is_protected_passes_every_check }

async fn what_is_protected_passes_every_check(place: &Place) {
    let running = shop::start(place).await;
    let url = orders(running.address());
    let count = ["--count", &url, "--count-pointer", "/orders/all", "--json"];
    let said = check(&url, &[EVERYTHING, &count].concat()).await.done();
    let outcomes = outcomes(&said);
    assert_eq!(outcomes["passed"].len(), 21, "{}", said.out);
    assert_eq!(outcomes.len(), 1, "{}", said.out);
    assert_eq!(said.json()["conformant"], true);
}
