//! What the races cost: no bound is asserted, the figures are printed (`cargo xtask galera -- figures --nocapture`).

use std::time::{Duration, Instant};

use idem_tests::{App, Stage, send};
use tokio::task::JoinSet;

use crate::asking::{ONCE, ask, entered, marking, settled, stage};

const OPERATIONS: usize = 2_000;
const AT_ONCE: usize = 8;

/// Each operation is asked for at so many nodes at one moment, eight operations at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn figures() {
    let (stage, apps) = stage().await;
    for nodes in [1, 2, 3] {
        measure(&stage, &apps, nodes).await;
    }
    stage.discard().await;
}

#[derive(Default)]
struct Counts {
    originals: usize,
    replays: usize,
    refused: usize,
    others: usize,
    times: Vec<Duration>,
}

async fn measure(stage: &Stage, apps: &[App], nodes: usize) {
    let before: usize = apps.iter().map(overtaken).sum();
    let start = Instant::now();
    let mut running = JoinSet::new();
    let mut counts = Counts::default();
    for number in 0..OPERATIONS {
        if running.len() >= AT_ONCE {
            counts.add(running.join_next().await.unwrap().unwrap());
        }
        let label = format!("race{nodes}-{number}");
        let request = ask(ONCE, &label, &marking(&label));
        let addresses: Vec<_> = (0..nodes)
            .map(|node| apps[(number + node) % 3].address())
            .collect();
        running.spawn(async move {
            let mut asked = JoinSet::new();
            for address in addresses {
                let request = request.clone();
                asked.spawn(async move {
                    let start = Instant::now();
                    (
                        send(address, &request).await.expect("an answer"),
                        start.elapsed(),
                    )
                });
            }
            asked.join_all().await
        });
    }
    while let Some(answers) = running.join_next().await {
        counts.add(answers.unwrap());
    }
    let time = start.elapsed();
    let overtaken = apps.iter().map(overtaken).sum::<usize>() - before;
    let mut runs = 0;
    for number in 0..OPERATIONS {
        let label = format!("race{nodes}-{number}");
        assert!(
            settled(&apps[0], &ask(ONCE, &label, &marking(&label)))
                .await
                .is_replay()
        );
        runs += entered(apps, &label).await;
    }
    let effects = format!("SELECT count(*) FROM effects WHERE label LIKE 'race{nodes}-%'");
    assert_eq!(
        stage.database.number(&effects).await,
        i64::try_from(OPERATIONS).unwrap()
    );
    assert_eq!((counts.originals, counts.others), (OPERATIONS, 0));
    counts.times.sort();
    let at = |part: usize| counts.times[(counts.times.len() - 1) * part / 100].as_secs_f64() * 1e3;
    println!(
        "{OPERATIONS} operations at {nodes} nodes each: {:.0} operations/s; answers after {:.1} ms (median), {:.1} ms (99 %); \
         {} by a run, {} replayed, {} in flight; {runs} runs, {overtaken} of them rolled back at COMMIT",
        counts.originals as f64 / time.as_secs_f64(),
        at(50),
        at(99),
        counts.originals,
        counts.replays,
        counts.refused,
    );
}

impl Counts {
    fn add(&mut self, answers: Vec<(idem_tests::Response, Duration)>) {
        for (answer, time) in answers {
            self.times.push(time);
            *match answer.status {
                201 if answer.is_replay() => &mut self.replays,
                201 => &mut self.originals,
                409 => &mut self.refused,
                _ => &mut self.others,
            } += 1;
        }
    }
}

/// How often its log says so.
fn overtaken(app: &App) -> usize {
    app.log().matches("another transaction was faster").count()
}
