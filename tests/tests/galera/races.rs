//! One key at several nodes at once: each may run its handler, and one of them commits.

use idem_tests::{App, Response, all_at_once, send};
use serde_json::json;

use crate::asking::{
    ONCE, ask, assert_in_flight, assert_once, assert_one_original, assert_original, assert_replay,
    entered, marking, settled, stage, storm, with,
};

/// What two handlers write that meet.
const SAME_ROW: &str = "UPDATE stock SET sold = sold + 1 WHERE id = 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn storms_over_three_nodes() {
    let (stage, apps) = stage().await;
    for round in 0..20 {
        let label = format!("storm{round}");
        let request = ask(ONCE, &label, &marking(&label));
        let answers = storm(&apps, 12, &request).await;
        let original = assert_one_original(&answers);
        assert_once(&stage, &apps, &request, &label, original).await;
    }
    assert_eq!(stage.database.records().await, 20);
    stage.discard().await;
}

/// There is no 409 at once: the named locks of a node are not those of another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn handlers_run_at_three_nodes_and_one_commits() {
    let (stage, apps) = stage().await;
    for round in 0..5 {
        let label = format!("gate{round}");
        let request = ask(
            ONCE,
            &label,
            &with(&marking(&label), &json!({ "gate": label })),
        );
        let running = all_at_the_gate(&apps, &label, |_| request.clone()).await;
        for app in &apps {
            app.open_gate(&label).await;
        }
        let answers = ended(running).await;
        assert_eq!(entered(&apps, &label).await, 3);
        let original = assert_one_original(&answers);
        assert_once(&stage, &apps, &request, &label, original).await;
    }
    stage.discard().await;
}

/// The one that is slower is rolled back by the server while its handler runs (1213 at what comes next). It said 500.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn who_is_overtaken_by_its_own_key_is_told_the_answer() {
    let (stage, apps) = stage().await;
    let script = with(&marking("k"), &json!({ "gate": "k", "sql": SAME_ROW }));
    let request = ask(ONCE, "k", &script);
    let mut running = all_at_the_gate(&apps[..2], "k", |_| request.clone()).await;
    apps[0].open_gate("k").await;
    let first = running.remove(0).await.unwrap();
    assert_original(&first);
    assert_eq!(stage.database.effects("k").await, 1);
    // Its node has the winner's work by now, for which its own transaction had to go.
    apps[2].open_gate("k").await;
    assert_replay(&first, &settled(&apps[2], &request).await);
    apps[1].open_gate("k").await;
    match running.remove(0).await.unwrap() {
        answer if answer.status == 409 => assert_in_flight(&answer),
        answer => assert_replay(&first, &answer),
    }
    assert_once(&stage, &apps, &request, "k", &first).await;
    assert_eq!(sold(&stage).await, 1);
    stage.discard().await;
}

/// Two operations that write one row: where the handler may not run again, the client is told to come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn who_is_overtaken_by_another_key_is_told_to_come_back() {
    let (stage, apps) = stage().await;
    let keys = ["one", "two"];
    let request = |key: &str| {
        let members = json!({ "gate": "gate", "sql": SAME_ROW });
        ask(ONCE, key, &with(&marking(key), &members))
    };
    let running = all_at_the_gate(&apps[..2], "gate", |index| request(keys[index])).await;
    for app in &apps {
        app.open_gate("gate").await;
    }
    let answers = ended(running).await;
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status != 201)
        .collect();
    assert_eq!(refused.len(), 1, "{answers:#?}");
    assert_in_flight(refused[0]);
    for key in keys {
        assert_eq!(settled(&apps[2], &request(key)).await.status, 201);
        assert_eq!(stage.database.effects(key).await, 1);
    }
    assert_eq!(sold(&stage).await, 2);
    stage.discard().await;
}

/// With `retries` it is run again, and nothing of its first run is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn who_is_overtaken_and_may_run_again_does() {
    let (stage, apps) = stage().await;
    let keys = ["one", "two"];
    let running = all_at_the_gate(&apps[..2], "gate", |index| {
        let members = json!({ "label": "both", "gate": "gate", "sql": SAME_ROW });
        ask(
            "/serializable/script",
            keys[index],
            &with(&marking(""), &members),
        )
    })
    .await;
    for app in &apps {
        app.open_gate("gate").await;
    }
    for answer in ended(running).await {
        assert_original(&answer);
    }
    assert_eq!(entered(&apps, "both").await, 3);
    assert_eq!(stage.database.effects("both").await, 2);
    assert_eq!(sold(&stage).await, 2);
    stage.discard().await;
}

/// Operations of many keys that write one row, so that most of them are rolled back, many between two of our statements.
/// Some of these were told 201, and a few left a record alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn nobody_is_told_of_a_commit_that_was_none() {
    const ROUNDS: usize = 150;
    let (stage, apps) = stage().await;
    let addresses: Vec<_> = apps.iter().map(App::address).collect();
    let mut told = 0;
    for round in 0..ROUNDS {
        let answers = all_at_once(6, |index| {
            let script = with(&marking("hot"), &json!({ "sql": SAME_ROW }));
            let request = ask(ONCE, &format!("k{round}-{index}"), &script);
            let address = addresses[index % addresses.len()];
            async move { send(address, &request).await.expect("an answer") }
        })
        .await;
        told += answers.iter().filter(|answer| answer.status == 201).count();
    }
    assert!(
        told < 6 * ROUNDS,
        "nobody was rolled back: the test shows nothing"
    );
    let told = i64::try_from(told).unwrap();
    let found = (sold(&stage).await, stage.database.effects("hot").await);
    assert_eq!(
        (found, stage.database.records().await),
        ((told, told), told)
    );
    stage.discard().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn an_expired_record_is_taken_over_once() {
    let (stage, apps) = stage().await;
    assert_original(&apps[0].send(&ask(ONCE, "k", &marking("old"))).await);
    for round in 0..10 {
        stage.database.expire_all().await;
        let label = format!("new{round}");
        let request = ask(ONCE, "k", &marking(&label));
        let answers = storm(&apps, 12, &request).await;
        // At a node that has not heard of the expiry yet, yesterday's record stands.
        let answers: Vec<_> = answers
            .into_iter()
            .filter(|answer| answer.status != 422)
            .collect();
        let original = assert_one_original(&answers);
        assert_once(&stage, &apps, &request, &label, original).await;
        assert_eq!(stage.database.records().await, 1);
    }
    stage.discard().await;
}

/// Every one of these runs, and waits at the gate.
async fn all_at_the_gate(
    apps: &[App],
    gate: &str,
    request: impl Fn(usize) -> idem_tests::Request,
) -> Vec<tokio::task::JoinHandle<Response>> {
    let mut running = Vec::new();
    for (index, app) in apps.iter().enumerate() {
        running.push(app.send_in_background(&request(index)));
        app.reached(gate, 1).await;
    }
    running
}

async fn ended(running: Vec<tokio::task::JoinHandle<Response>>) -> Vec<Response> {
    let mut answers = Vec::new();
    for answer in running {
        answers.push(answer.await.unwrap());
    }
    answers
}

async fn sold(stage: &idem_tests::Stage) -> i64 {
    stage
        .database
        .number("SELECT sold FROM stock WHERE id = 1")
        .await
}
