//! A run from its beginning to its end: prepare, ask and harm, let settle, let everything be sent, read, check, report.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::Outcome;
use crate::backends::{self, Tables};
use crate::check::{self, Violation};
use crate::client::{self, Client};
use crate::faults;
use crate::ground::Ground;
use crate::history::History;
use crate::operator::Settled;
use crate::options::{Options, Style};
use crate::plan::{Harm, Operation, Wishes, stream as random};
use crate::report::Report;

/// Longer than any handler and any lease.
const QUIET: Duration = Duration::from_secs(6);
/// For one operation to come to its end when nothing is wrong any more.
const LAST_PATIENCE: Duration = Duration::from_secs(45);
const OPERATOR_PAUSE: Duration = Duration::from_secs(1);
const ASKED_AT_ONCE: usize = 24;
/// For all messages that are left, when nothing is wrong any more.
const SENDING_PATIENCE: Duration = Duration::from_secs(60);
/// What workers have open for a moment is nothing that is left.
const LOOKS: u32 = 30;
const PAUSE: Duration = Duration::from_millis(200);

/// What has come of one.
pub(crate) struct Run {
    pub(crate) operations: usize,
    pub(crate) harmed_for: Duration,
    pub(crate) violations: Vec<Violation>,
    /// Its report.
    text: String,
}

/// Every backend that was asked for; how many violations there are.
pub(crate) async fn all(options: &Options) -> Outcome<usize> {
    let seed = options.seed();
    let mut violations = 0;
    for name in backends::chosen(options.backend) {
        let Some(style) = options.style.on(name) else {
            println!("{name}: skipped, the test application has no blocking handlers there");
            continue;
        };
        let run = one(options, name, style, seed).await?;
        println!("{}", run.text);
        violations += run.violations.len();
    }
    Ok(violations)
}

pub(crate) async fn one(options: &Options, name: &str, style: Style, seed: u64) -> Outcome<Run> {
    let mut title = format!("{name}-{}-{seed}", style.name());
    if let Some(defect) = &options.defect {
        title += &format!("-{defect}");
    }
    let directory = options.output()?.join(title);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    eprintln!(
        "idem-torture: {name}, {}, seed {seed}, history in {}",
        style.name(),
        directory.display()
    );
    let backend = backends::fresh(name, &directory).await?;
    let history = History::begin(&directory)?;
    let ground = Arc::new(Ground::prepare(options, style, backend, history).await?);

    let start = Instant::now();
    under_harm(&ground, options, seed, start + options.duration()).await;
    let harmed_for = start.elapsed();

    let start = Instant::now();
    ground.everything_runs().await?;
    sleep(QUIET).await;
    let settled = let_settle(&ground, seed).await?;
    let_send(&ground).await?;
    let settled_in = start.elapsed();

    let tables = read(&ground).await?;
    let record = ground.history.record();
    let mut violations = check::check(&record, &tables);
    violations.extend(logged(&ground).await?);
    ground.history.note("tables", &tables);
    for violation in &violations {
        ground.history.note("violation", violation);
    }
    let report = Report {
        backend: name,
        seed,
        harmed_for,
        settled_in,
        record: &record,
        settled,
        slots: &ground.slots,
        violations: &violations,
        replay: options.replay(seed, name),
    };
    let text = report.text();
    fs::write(directory.join("report.txt"), &text)?;
    ground.history.flush()?;
    for slot in &ground.slots {
        slot.hold().await.kill().await;
    }
    // What a defect has done is of no use to anybody.
    if violations.is_empty() || options.defect.is_some() {
        ground.backend.discard().await?;
    }
    Ok(Run {
        operations: record.operations.len(),
        harmed_for,
        violations,
        text,
    })
}

async fn under_harm(ground: &Arc<Ground>, options: &Options, seed: u64, end: Instant) {
    let mut everybody = JoinSet::new();
    for number in 0..options.clients {
        let wishes = Wishes::of(seed, number, options, ground.has_leases());
        everybody.spawn(client::perform(
            Arc::clone(ground),
            wishes,
            seed,
            number,
            end,
        ));
    }
    let plan = Harm::of(seed, backends::has_server(ground.backend.name()), options);
    everybody.spawn(faults::harm(Arc::clone(ground), plan, end));
    everybody.join_all().await;
}

/// Everybody asks once more, until there is a last word; who knows how it ended says so before,
/// and comes back.
async fn let_settle(ground: &Arc<Ground>, seed: u64) -> Outcome<Settled> {
    let operations = ground.history.record().operations;
    let mut settled = ground.backend.settle(&operations).await?;
    let requests = operations
        .iter()
        .enumerate()
        .flat_map(|(place, operation)| {
            (0..operation.variants.len())
                .map(move |variant| (place, Arc::clone(operation), variant))
        });
    let asking = stream::iter(requests).for_each_concurrent(
        ASKED_AT_ONCE,
        |(place, operation, variant)| async move {
            let mut client = Client {
                ground: Arc::clone(ground),
                rng: random(seed, "afterwards", place as u64),
                is_patient: false,
                is_rude: false,
                is_after_the_harm: true,
            };
            let until = Instant::now() + LAST_PATIENCE;
            client.pursue(&operation, place, variant, until).await;
        },
    );
    tokio::select! {
        () = asking => {}
        failed = keep_settling(ground, &operations, &mut settled) => failed?,
    }
    Ok(settled)
}

/// What was released may run, and fail again.
async fn keep_settling(
    ground: &Ground,
    operations: &[Arc<Operation>],
    settled: &mut Settled,
) -> Outcome {
    loop {
        sleep(OPERATOR_PAUSE).await;
        *settled += ground.backend.settle(operations).await?;
    }
}

/// Returns when no message waits any more; those that wait for too long are found in the tables.
async fn let_send(ground: &Ground) -> Outcome {
    let waiting = "SELECT 'waiting' AS a, count(*) || '' AS b FROM idempotency_outbox
                    WHERE sent_at IS NULL AND dead_at IS NULL HAVING count(*) > 0";
    let start = Instant::now();
    while start.elapsed() < SENDING_PATIENCE && !ground.backend.rows(waiting).await?.is_empty() {
        sleep(PAUSE).await;
    }
    Ok(())
}

async fn read(ground: &Ground) -> Outcome<Tables> {
    let mut open = Vec::new();
    for _ in 0..LOOKS {
        open = ground.backend.left_open().await?;
        if open.is_empty() {
            break;
        }
        sleep(PAUSE).await;
    }
    let mut tables = Tables::read(&*ground.backend).await?;
    tables.read_outbox(&*ground.backend).await?;
    tables.open = open;
    Ok(tables)
}

async fn logged(ground: &Ground) -> Outcome<Vec<Violation>> {
    let mut found = Vec::new();
    for slot in &ground.slots {
        slot.hold().await.keep_log();
        let log = fs::read(slot.log())?;
        found.extend(check::logs::check(
            slot.number,
            &String::from_utf8_lossy(&log),
        ));
    }
    Ok(found)
}
