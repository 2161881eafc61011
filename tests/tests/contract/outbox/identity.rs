//! A message has one id, in whatever run of its operation it was queued.

use idem_tests::{
    App, Stage, all_at_once, asynchronous, in_both_styles, in_both_styles_on_postgres, send, until,
};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Letters, ids, message, plain, queueing};
use crate::asking::{ask, nothing_open, settled};

in_both_styles! { an_id_is_derived }

asynchronous! {
    a_step_that_is_taken_again_queues_the_same,
    a_step_that_was_killed_queues_the_same,
}

in_both_styles_on_postgres! { a_run_that_is_made_again_does_not_shift_places }

/// What the id of a message is, stated a second time.
fn derived(key: &str, topic: &str, step: &str, number: u64) -> String {
    let mut hash = Sha256::new();
    let scope = "account:acme";
    let number = number.to_be_bytes();
    let texts = ["idem:message:1", scope, key, topic, step].map(str::as_bytes);
    for part in texts.into_iter().chain([&number[..]]) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut bytes: Vec<u8> = hash.finalize()[..16].to_vec();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    hex::encode(bytes)
}

/// What the process says it has queued.
fn queued(app: &App) -> Vec<String> {
    let log = app.log();
    let lines = log.lines().filter_map(|line| line.strip_prefix("queued "));
    lines
        .map(|line| plain(line.split(' ').next().unwrap()))
        .collect()
}

async fn an_id_is_derived(stage: &Stage) {
    let app = stage.start().await;
    let messages = ["a", "b", "a"].map(|topic| message(topic, json!(1)));
    super::queue(&app, "k", &messages).await;
    let expected = [
        derived("k", "a", "", 0),
        derived("k", "b", "", 0),
        derived("k", "a", "", 1),
    ];
    assert_eq!(ids(stage).await, expected);
}

async fn a_step_that_is_taken_again_queues_the_same(stage: &Stage) {
    let app = stage.start().await;
    let script = json!({ "label": "again", "status": 201, "steps": [
        { "name": "one", "kind": "transaction", "messages": [message("t", json!(1)), message("t", json!(2))] },
        { "name": "two", "kind": "transaction", "messages": [message("t", json!(3))], "fail": "err", "fails": 2 },
    ] });
    let request = ask("/steps/script", "k", &script);
    for _ in 0..2 {
        assert_eq!(app.send(&request).await.status, 500);
        assert_eq!(ids(stage).await.len(), 2);
    }
    assert_eq!(app.send(&request).await.status, 201);
    let expected = [
        derived("k", "t", "one", 0),
        derived("k", "t", "one", 1),
        derived("k", "t", "two", 0),
    ];
    assert_eq!(ids(stage).await, expected);
    let [one, two, three] = expected;
    assert_eq!(
        queued(&app),
        [one, two, three.clone(), three.clone(), three]
    );
}

async fn a_step_that_was_killed_queues_the_same(stage: &Stage) {
    let letters = Letters::new();
    let script = json!({ "label": "killed", "status": 201, "steps": [
        { "name": "one", "kind": "transaction", "messages": [message("t", json!(1))] },
        { "name": "two", "kind": "transaction", "messages": [message("t", json!(2)), message("t", json!(3))],
          "gate_behind": "two" },
    ] });
    let request = ask("/steps/script", "k", &script);
    let victim = stage.start().await;
    let asked = victim.send_in_background(&request);
    victim.reached("two", 1).await;
    let [one, two, three] =
        [("one", 0), ("two", 0), ("two", 1)].map(|(step, number)| derived("k", "t", step, number));
    until("it has said what it has queued", || async {
        (queued(&victim).len() == 3).then_some(())
    })
    .await;
    assert_eq!(queued(&victim), [one.clone(), two.clone(), three.clone()]);
    asked.abort();
    victim.kill().await;
    nothing_open(stage).await;
    assert_eq!(ids(stage).await, [one.as_str()]);
    let other = letters.relay(stage).start().await;
    other.open_gate("two").await;
    stage.database.expire_leases().await;
    let answer = settled(&other, &request).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(ids(stage).await, [one, two.clone(), three.clone()]);
    until("it has said what it has queued", || async {
        (queued(&other) == [two.clone(), three.clone()]).then_some(())
    })
    .await;
    assert_eq!(letters.arrived(stage, 3).await.len(), 3);
}

async fn a_run_that_is_made_again_does_not_shift_places(stage: &Stage) {
    let app = stage.start().await;
    let address = app.address();
    let answers = all_at_once(8, |index| {
        let script = queueing("again", &[message("t", json!(1)), message("t", json!(2))]);
        let request = ask("/outbox-serializable/script", &format!("k{index}"), &script);
        async move { send(address, &request).await.expect("an answer") }
    })
    .await;
    let mut expected = Vec::new();
    for (index, answer) in answers.iter().enumerate() {
        if answer.status == 201 {
            let key = format!("k{index}");
            expected.extend([derived(&key, "t", "", 0), derived(&key, "t", "", 1)]);
        }
    }
    assert!(app.entered("again").await > 8, "nothing was run again");
    let mut found = ids(stage).await;
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}
