//! A node that has not applied yet what another one has committed: its look finds nothing, and the primary key stands.

use serde_json::json;

use crate::asking::{
    ONCE, ask, assert_once, assert_original, assert_replay, entered, marking, stage, with,
};

/// The second node cannot apply the first answer while a handler is to be entered there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn a_stale_look_costs_a_run_and_no_effect() {
    let (stage, apps) = stage().await;
    let script = with(&marking("k"), &json!({ "gate": "k", "sleep_at": "before" }));
    let request = ask(ONCE, "k", &script);
    apps[0].open_gate("k").await;
    let late = apps[1].send_in_background(&request);
    // Its look is behind it.
    apps[1].reached("k", 1).await;
    let first = apps[0].send(&request).await;
    assert_original(&first);
    apps[1].open_gate("k").await;
    let late = late.await.unwrap();
    match late.status {
        409 => crate::asking::assert_in_flight(&late),
        _ => assert_replay(&first, &late),
    }
    assert_eq!(entered(&apps, "k").await, 2);
    assert_once(&stage, &apps, &request, "k", &first).await;
    stage.discard().await;
}

/// A client that asks another node as soon as it has its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn a_retry_right_behind_the_answer() {
    const COUNT: usize = 200;
    let (stage, apps) = stage().await;
    let mut late = 0;
    for number in 0..COUNT {
        let label = format!("k{number}");
        let request = ask(ONCE, &label, &marking(&label));
        let first = apps[number % 3].send(&request).await;
        assert_original(&first);
        let retry = apps[(number + 1) % 3].send(&request).await;
        match retry.status {
            409 => late += 1,
            _ => assert_replay(&first, &retry),
        }
        assert_once(&stage, &apps, &request, &label, &first).await;
    }
    let mut runs = 0;
    for number in 0..COUNT {
        runs += entered(&apps, &format!("k{number}")).await;
    }
    println!("of {COUNT} retries {late} got 409; {runs} runs for {COUNT} effects");
    stage.discard().await;
}
