//! Pruners at several nodes: what one deletes another one may be deleting.

use idem_tests::{Request, all_at_once, send};

use crate::asking::{ONCE, ask, assert_original, marking, stage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn three_pruners_delete_each_row_once() {
    const ROWS: i64 = 600;
    let (stage, apps) = stage().await;
    let addresses: Vec<_> = apps.iter().map(idem_tests::App::address).collect();
    for round in 0..3 {
        let kept = format!("kept{round}");
        stage.database.execute(&rows(&stage, ROWS)).await;
        assert_original(&apps[0].send(&ask(ONCE, &kept, &marking(&kept))).await);
        let pruned = all_at_once(3, |index| {
            let address = addresses[index];
            async move {
                send(address, &Request::post("/prune"))
                    .await
                    .expect("an answer")
            }
        })
        .await;
        let mut total = 0;
        for answer in pruned {
            assert_eq!(answer.status, 200, "{answer:?}");
            total += answer.text().parse::<i64>().unwrap();
        }
        // Who has not heard of the rows yet leaves them to the others.
        total += apps[0]
            .send(&Request::post("/prune"))
            .await
            .text()
            .parse::<i64>()
            .unwrap();
        assert_eq!(total, ROWS);
        assert_eq!(stage.database.records().await, round + 1);
    }
    stage.discard().await;
}

/// So many that have expired.
fn rows(stage: &idem_tests::Stage, count: i64) -> String {
    let past = stage.backend().ago(60);
    format!(
        r#"INSERT INTO idempotency_keys
           (id, scope, "key", endpoint, fingerprint, status, headers, recorded_at, expires_at)
           SELECT unhex(md5(concat(rand(), seq))), 'acme', concat('old', seq), 'POST /', '', 201, '[]', {past}, {past}
           FROM seq_1_to_{count}"#
    )
}
