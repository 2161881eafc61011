//! The client's process is killed between two attempts, with SIGKILL, and started again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use idem_client::reqwest::header::{AUTHORIZATION, HeaderValue};
use idem_client::{Outcome, PendingOperation};

use crate::client;
use crate::server::{Server, Turn};

const FILE: &str = "IDEM_CLIENT_TEST_FILE";
const URL: &str = "IDEM_CLIENT_TEST_URL";

/// What a shop's process does: the order is on the disk before it is on the wire, and goes when it is over.
#[tokio::test]
#[ignore = "the test below runs it, as a process"]
async fn shop() {
    let Some(file) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    let client = client();
    let mut order: PendingOperation = match std::fs::read(&file) {
        Ok(left) => serde_json::from_slice(&left).unwrap(),
        Err(_) => {
            let order = client.post(std::env::var(URL).unwrap());
            let order = order.bearer_auth("t0ken").json(&["tea"]).prepare().unwrap();
            std::fs::write(&file, serde_json::to_vec(&order).unwrap()).unwrap();
            order
        }
    };
    order.secret_header(AUTHORIZATION, HeaderValue::from_static("Bearer t0ken"));
    let outcome = client.run(&mut order).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(_)) && outcome.replayed());
    std::fs::remove_file(file).unwrap();
}

fn start(file: &Path, url: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::shop", "--ignored"])
        .env(FILE, file)
        .env(URL, url)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

async fn ended(mut child: Child) -> ExitStatus {
    let wait = tokio::task::spawn_blocking(move || child.wait());
    wait.await.unwrap().unwrap()
}

#[tokio::test]
async fn a_process_that_is_killed_goes_on_with_the_same_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("order.json");
    let server = Server::start(&[Turn::Stall]).await;
    let mut victim = start(&file, &server.url());
    server.has_received(1).await;
    victim.kill().unwrap();
    assert!(!ended(victim).await.success());
    let saved = std::fs::read_to_string(&file).unwrap();
    assert!(!saved.contains("t0ken"), "{saved}");

    assert!(ended(start(&file, &server.url())).await.success());
    assert!(!file.exists());
    assert_eq!(server.effects(), 1);
    let [first, second] = &server.received()[..] else {
        panic!("two attempts");
    };
    for name in ["idempotency-key", "authorization", "content-type"] {
        assert!(first.header(name).is_some());
        assert_eq!(first.header(name), second.header(name), "{name}");
    }
    assert_eq!(first.body, second.body);
}
