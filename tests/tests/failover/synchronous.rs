//! A synchronous standby: nothing that was acknowledged is lost, and nothing happens twice.

use std::collections::HashMap;
use std::time::Instant;

use crate::load::{Load, Mode, Operation};
use crate::pair::{Pair, Replication, Server, settled};

const CLIENTS: usize = 16;
/// The promoted one dies in its turn, once it has a standby.
const FAILOVERS: usize = 3;
/// Operations that end well before a primary dies, and after the last one has.
const BEFORE: usize = 300;
const AFTER: usize = 300;

/// When a primary died, and when the next one was there.
struct Failover {
    death: Instant,
    promoted: Instant,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_acknowledged_operation_is_lost_or_doubled() {
    let mut pair = Pair::start(Replication::Synchronous).await;
    let apps = [pair.app().start().await, pair.app().start().await];
    let addresses = apps.each_ref().map(|app| app.address());
    let load = Load::start(CLIENTS, &addresses);
    load.more(BEFORE).await;
    let mut failovers = vec![fail_over(&mut pair).await];
    while failovers.len() < FAILOVERS {
        pair.rebuild(Replication::Synchronous).await;
        load.more(BEFORE).await;
        failovers.push(fail_over(&mut pair).await);
    }
    load.more(AFTER).await;
    let operations = load.stop().await;

    let found = Found::on(&pair.standby).await;
    for operation in &operations {
        found.judge(operation);
    }
    for (index, Failover { death, .. }) in failovers.iter().enumerate() {
        let early = count(&operations, |one| {
            one.answer.is_some() && one.answered < *death
        });
        let wanted = BEFORE * (index + 1);
        assert!(early >= wanted, "{early} acknowledged before death {index}");
    }
    // Every key still answers, also those that a client gave up: that one retry is the last thing it lacked.
    for (index, operation) in operations.iter().enumerate() {
        let request = operation.mode.request(&operation.label);
        let answer = settled(&apps[index % apps.len()], &request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        if let Some(first) = &operation.answer {
            assert!(answer.is_replay(), "{}: it ran again", operation.label);
            assert_eq!(answer.comparable(), first.comparable());
        }
    }
    let found = Found::on(&pair.standby).await;
    for operation in &operations {
        found.assert_done(operation);
    }
    assert_eq!(found.effects.len(), operations.len(), "effects of nobody");
    report(&operations, &failovers);
}

async fn fail_over(pair: &mut Pair) -> Failover {
    let death = Instant::now();
    pair.fail_over().await;
    let promoted = Instant::now();
    Failover { death, promoted }
}

fn count(operations: &[Operation], is_it: impl Fn(&Operation) -> bool) -> usize {
    operations.iter().filter(|one| is_it(one)).count()
}

fn report(operations: &[Operation], failovers: &[Failover]) {
    let retried = count(operations, |one| one.answer.is_some() && !one.is_smooth);
    let given_up = count(operations, |one| one.answer.is_none());
    println!(
        "{} operations, {retried} acknowledged only on retry, {given_up} given up",
        operations.len()
    );
    for Failover { death, promoted } in failovers {
        let answered = operations.iter().filter(|one| one.answer.is_some());
        let after = answered.filter(|one| one.answered > *promoted);
        let first = after.map(|one| one.answered - *promoted).min();
        let outage = *promoted - *death;
        println!("promoted {outage:?} after the death, the first answer {first:?} after that");
    }
}

/// What a database holds.
struct Found {
    effects: HashMap<String, usize>,
    calls: HashMap<String, Vec<String>>,
}

impl Found {
    async fn on(server: &Server) -> Self {
        let mut found = Self {
            effects: HashMap::new(),
            calls: HashMap::new(),
        };
        for row in server.rows("SELECT label FROM effects").await {
            *found.effects.entry(row[0].clone()).or_default() += 1;
        }
        for row in server.rows("SELECT DISTINCT label, key FROM calls").await {
            let keys = found.calls.entry(row[0].clone()).or_default();
            keys.push(row[1].clone());
        }
        found
    }

    /// Once where a client was told so, else at most once.
    #[track_caller]
    fn judge(&self, operation: &Operation) {
        if operation.answer.is_some() {
            return self.assert_done(operation);
        }
        let effects = self.effects.get(&operation.label);
        assert!(
            effects.is_none_or(|count| *count == 1),
            "{}: {effects:?}",
            operation.label
        );
    }

    /// The work in the database once; each call made, with a key of its own, which a provider that de-duplicates takes
    /// once.
    #[track_caller]
    fn assert_done(&self, operation: &Operation) {
        let label = &operation.label;
        assert_eq!(self.effects.get(label), Some(&1), "{label}");
        let calls = self.calls.get(label).map_or(0, Vec::len);
        let expected = match operation.mode {
            Mode::Transaction => 0,
            Mode::Lease => 2,
        };
        assert_eq!(calls, expected, "{label}");
    }
}
