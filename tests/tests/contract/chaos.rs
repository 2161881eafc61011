//! Clients that do not give up, and a process that dies again and again beside one that lives: each operation happens
//! once, and each client learns its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_tests::{Response, Stage, in_both_styles, send, until};
use tokio::sync::watch;

use crate::asking::{ask, marking};

const CLIENTS: usize = 8;
const OPERATIONS: usize = 40;
const DEATHS: usize = 6;

in_both_styles! { every_operation_happens_once }

struct Client {
    number: usize,
    living: SocketAddr,
    dying: watch::Receiver<SocketAddr>,
    done: Arc<AtomicUsize>,
}

async fn every_operation_happens_once(stage: &Stage) {
    let living = stage.start().await;
    let mut dying = stage.start().await;
    let address = watch::Sender::new(dying.address());
    let done = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| Client {
            number,
            living: living.address(),
            dying: address.subscribe(),
            done: Arc::clone(&done),
        })
        .map(|client| tokio::spawn(client.run()))
        .collect();
    for death in 1..=DEATHS {
        let enough = CLIENTS * OPERATIONS * death / (DEATHS + 1);
        until("some more operations are done", || async {
            (done.load(Ordering::SeqCst) >= enough).then_some(())
        })
        .await;
        dying.kill().await;
        dying = stage.start().await;
        address.send_replace(dying.address());
    }
    for client in clients {
        client.await.unwrap();
    }
    let count = i64::try_from(CLIENTS * OPERATIONS).unwrap();
    assert_eq!(
        stage.database.number("SELECT count(*) FROM effects").await,
        count
    );
    assert_eq!(
        stage
            .database
            .number("SELECT count(DISTINCT label) FROM effects")
            .await,
        count
    );
    assert_eq!(stage.database.records().await, count);
}

impl Client {
    async fn run(self) {
        for operation in 0..OPERATIONS {
            let label = format!("client {} operation {operation}", self.number);
            let key = label.replace(' ', "-");
            let first = self.answer_to(&key, &label, operation).await;
            let again = self.answer_to(&key, &label, operation + 1).await;
            assert_eq!(again.comparable(), first.comparable());
            assert!(again.is_replay());
            self.done.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Asks the one and the other in turn until there is an answer that is final.
    async fn answer_to(&self, key: &str, label: &str, start: usize) -> Response {
        let request = ask("/account/script", key, &marking(label));
        for attempt in start.. {
            let address = if attempt % 2 == 0 {
                self.living
            } else {
                *self.dying.borrow()
            };
            match send(address, &request).await {
                Ok(answer) if answer.status == 201 => return answer,
                Ok(answer) => {
                    assert!(matches!(answer.status, 409 | 503), "{answer:?}");
                    assert_eq!(answer.json()["retryable"], true);
                }
                Err(_) => {}
            }
            // What a client does that was told to come back, only sooner.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        unreachable!("attempts have no end")
    }
}
