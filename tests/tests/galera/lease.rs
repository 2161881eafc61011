//! Lease mode across nodes: the claim is a row, so that one of those who insert it at once commits.

use idem_tests::App;

use crate::asking::{
    STEPS, ask, assert_once, assert_one_original, assert_original, assert_replay, entered, settled,
    stage, stepping, stepping_gated, storm, with,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn one_of_those_who_claim_at_once_runs() {
    let (stage, apps) = stage().await;
    for round in 0..10 {
        let label = format!("claimed{round}");
        let request = ask(STEPS, &label, &stepping(&label));
        let answers = storm(&apps, 9, &request).await;
        let original = assert_one_original(&answers);
        assert_once(&stage, &apps, &request, &label, original).await;
        // The claim is committed before the handler runs: there is no second run here.
        assert_done_once(&apps, &label).await;
    }
    stage.discard().await;
}

/// Its process is killed in front of its last step, and two nodes are asked to go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn a_stranded_run_is_taken_over_by_one() {
    let (stage, mut apps) = stage().await;
    for round in 0..5 {
        let label = format!("stranded{round}");
        let request = ask(STEPS, &label, &stepping_gated(&label, 2));
        let victim = stage.start_at(0).await;
        let asked = victim.send_in_background(&request);
        victim.reached(&label, 1).await;
        asked.abort();
        victim.kill().await;
        stage.database.expire_leases().await;
        for app in &apps {
            app.open_gate(&label).await;
        }
        let answers = storm(&apps, 6, &request).await;
        // A node that has not heard of the lease's end yet says that it runs.
        let original = match answers.iter().any(|answer| answer.status == 201) {
            true => assert_one_original(&answers).clone(),
            false => settled(&apps[1], &request).await,
        };
        assert_original(&original);
        assert_once(&stage, &apps, &request, &label, &original).await;
        // What the victim had finished is not done again.
        for (step, runs) in [("charge", 0), ("order", 0), ("notify", 1)] {
            assert_eq!(
                entered(&apps, &format!("{label}/{step}")).await,
                runs,
                "{step}"
            );
        }
    }
    apps.clear();
    stage.discard().await;
}

/// A run that has outlived its lease, and another one at another node that has taken over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn a_late_owner_at_another_node_writes_nothing() {
    let (stage, apps) = stage().await;
    for step in [0, 1, 2] {
        let label = format!("late{step}");
        let script = stepping_gated(&label, step);
        let script = with(&script, &serde_json::json!({ "heartbeat": false }));
        let request = ask(STEPS, &label, &script);
        let late = apps[0].send_in_background(&request);
        apps[0].reached(&label, 1).await;
        stage.database.expire_leases().await;
        apps[1].open_gate(&label).await;
        let taken = settled(&apps[1], &request).await;
        assert_original(&taken);
        apps[0].open_gate(&label).await;
        let late = late.await.unwrap();
        // Its node may not have the record yet.
        match late.status {
            409 => crate::asking::assert_in_flight(&late),
            _ => assert_replay(&taken, &late),
        }
        assert_once(&stage, &apps, &request, &label, &taken).await;
    }
    stage.discard().await;
}

/// Each step once, each call under its one key.
async fn assert_done_once(apps: &[App], label: &str) {
    for step in ["charge", "order", "notify"] {
        assert_eq!(entered(apps, &format!("{label}/{step}")).await, 1, "{step}");
    }
}
