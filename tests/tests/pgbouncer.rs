//! What goes wrong behind a pooler that hands connections out per transaction and does not keep prepared statements
//! apart: PgBouncer before 1.21, or with `max_prepared_statements = 0`. With them kept apart, the contract suite passes;
//! `cargo xtask pgbouncer` runs both.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use idem_tests::{App, Backend, Request, Stage};
use serde_json::json;

const TESTAPP: &str = env!("CARGO_BIN_EXE_idem-testapp");

/// Both processes count their statements from one, and meet on the pooler's one connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask pgbouncer` provides the pooler"]
async fn two_processes_share_the_names_of_their_statements() {
    let stage = Stage::fresh(Backend::Postgres, TESTAPP).await;
    let launch = stage.app().argument("--pool-timeout-ms").argument("500");
    let apps = [launch.start().await, launch.start().await];
    let mut refused = 0;
    for number in 0..10 {
        for app in &apps {
            let label = format!("label{number}-{}", app.process());
            let answer = app.send(&asking(&label)).await;
            let effects = stage.database.effects(&label).await;
            match answer.status {
                201 => assert_eq!(effects, 1, "{label}"),
                _ => {
                    assert!(matches!(answer.status, 500 | 503), "{answer:?}");
                    assert_eq!(effects, 0, "{label}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0, "prepared statements are kept apart here");
    let says_why = |app: &App| {
        let log = app.log();
        log.contains("prepared statement \"s") && log.contains("already exists")
    };
    assert!(apps.iter().any(says_why));
    stage.discard().await;
}

fn asking(label: &str) -> Request {
    Request::post("/account/script")
        .bearer("acme:one")
        .key(label)
        .json(&json!({ "label": label, "status": 201 }))
}
