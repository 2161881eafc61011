//! The order of messages across nodes, with relays at several of them.

use idem_tests::outbox::{OUTBOX, ids, ordered, plain, queueing, unsent};
use idem_tests::{Stage, all_at_once, send, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::asking::{ask, stage};

/// Transactions of one ordering key, open at two nodes at once: only one of them commits. Otherwise the one that commits
/// last might have the lower position, and what was sent before would have overtaken it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn of_two_that_queue_at_once_for_one_order_one_commits() {
    let (stage, apps) = stage().await;
    let script = |label: &str| {
        let mut script = queueing(label, &[ordered("t", json!(label), "o")]);
        script["gate"] = json!(label);
        script
    };
    // The row of the order is there.
    apps[0].open_gate("before").await;
    let before = apps[0]
        .send(&ask(OUTBOX, "before", &script("before")))
        .await;
    assert_eq!(before.status, 201);
    seen_at(&stage, 1).await;
    for round in 0..3 {
        let labels = [format!("left{round}"), format!("right{round}")];
        let mut running = Vec::new();
        for (app, label) in apps.iter().zip(&labels) {
            running.push(app.send_in_background(&ask(OUTBOX, label, &script(label))));
            app.reached(label, 1).await;
        }
        // Who queued last commits first.
        apps[1].open_gate(&labels[1]).await;
        assert_eq!(running.pop().unwrap().await.unwrap().status, 201);
        assert_eq!(stage.database.effects(&labels[1]).await, 1);
        apps[0].open_gate(&labels[0]).await;
        let other = running.pop().unwrap().await.unwrap();
        assert_eq!(other.status, 409, "{other:?}");
        assert_eq!(stage.database.effects(&labels[0]).await, 0);
    }
    stage.discard().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn relays_at_two_nodes_keep_the_order_of_the_commits() {
    const COUNT: usize = 45;
    let (stage, apps) = stage().await;
    let letters = Letters::new();
    let _relays = [
        letters.relay(&stage, 1).await,
        letters.relay(&stage, 2).await,
    ];
    let addresses: Vec<_> = apps.iter().map(idem_tests::App::address).collect();
    let answers = all_at_once(COUNT, |index| {
        let message = || ordered("t", json!(index), "o");
        let script = queueing("both", &[message(), message()]);
        let request = ask(OUTBOX, &format!("k{index}"), &script);
        let address = addresses[index % addresses.len()];
        async move {
            until("it has committed", || async {
                let answer = send(address, &request).await.expect("an answer");
                (answer.status == 201).then_some(answer)
            })
            .await
        }
    })
    .await;
    assert_eq!(answers.len(), COUNT);
    let arrived = letters.arrived(&stage, 2 * COUNT).await;
    assert_eq!(arrived.len(), 2 * COUNT);
    let sent: Vec<_> = arrived
        .iter()
        .map(|letter| plain(letter["id"].as_str().unwrap()))
        .collect();
    assert_eq!(sent, ids(&stage).await);
    assert_eq!(
        stage.database.effects("both").await,
        i64::try_from(COUNT).unwrap()
    );
    stage.discard().await;
}

/// The file that relays write what has arrived into.
struct Letters(TempDir);

impl Letters {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    async fn relay(&self, stage: &Stage, node: usize) -> idem_tests::App {
        let target = format!("file:{}", self.0.path().join("letters").display());
        let launch = stage.app().database_url(stage.database.url_at(node));
        launch.argument("--relay").argument(&target).start().await
    }

    async fn arrived(&self, stage: &Stage, count: usize) -> Vec<Value> {
        until("the messages have arrived", || async {
            let is_done = unsent(stage).await == 0;
            let text = std::fs::read_to_string(self.0.path().join("letters")).unwrap_or_default();
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let letters: Vec<Value> = whole
                .lines()
                .map(|line| serde_json::from_str(line).expect("a letter"))
                .collect();
            (is_done && letters.len() >= count).then_some(letters)
        })
        .await
    }
}

/// Returns when this node has what all have.
async fn seen_at(stage: &Stage, node: usize) {
    let app = stage.start_at(node).await;
    until("the node has it", || async {
        (app.effects("before").await.committed == 1).then_some(())
    })
    .await;
}
