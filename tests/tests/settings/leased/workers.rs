//! The workers of a process: what the maintenance worker counts, who misses it, and how one is stopped.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::web;
use idem_runtime::{Reconciler, UnresolvedOperation, Verdict};
use idem_tests::until;
use metrics::atomics::AtomicU64;
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

use super::{Kind, Told, app, each, send};
use crate::open::attempt;

each! {
    the_maintenance_worker_counts_what_it_prunes,
    a_process_without_maintenance_says_so_once,
    a_worker_that_is_stopped_finishes_what_it_is_at,
    a_completion_worker_that_is_stopped_waits_for_its_requests,
    no_interval_is_too_long,
}

/// Counts under their names, and how often something was measured.
#[derive(Default)]
struct Counts(Mutex<Vec<(String, Arc<Count>)>>);

#[derive(Default)]
struct Count(AtomicU64);

impl HistogramFn for Count {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl metrics::CounterFn for Count {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::SeqCst);
    }

    fn absolute(&self, _: u64) {}
}

impl Counts {
    fn named(&self, name: &str) -> Arc<Count> {
        let count = Arc::<Count>::default();
        let named = (name.to_owned(), Arc::clone(&count));
        self.0.lock().unwrap().push(named);
        count
    }

    fn of(&self, name: &str) -> u64 {
        let counts = self.0.lock().unwrap();
        let named = counts.iter().filter(|(other, _)| other == name);
        named.map(|(_, count)| count.0.load(Ordering::SeqCst)).sum()
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.named(key.name()))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.named(key.name()))
    }
}

async fn the_maintenance_worker_counts_what_it_prunes<K: Kind>() {
    let counts = Counts::default();
    // A test's worker is on its thread.
    let _recorder = metrics::set_default_local_recorder(&counts);
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let keyed = |path, key: u32| attempt(path, &format!("k{key}"));
    let expiring = (0..3).map(|key| keyed("/hold/201", key)).collect();
    send(K::builder(&database).await, &told, expiring).await;
    database.expire_all().await;
    let staying = vec![keyed("/hold/201", 3), keyed("/hold/500", 4)];
    send(K::builder(&database).await, &told, staying).await;
    let builder = K::builder(&database).await;
    let settings = builder.worker_interval(Duration::from_millis(10)).build();
    let worker = settings.unwrap().spawn_maintenance();
    until("they are pruned", async || {
        (counts.of("idempotency_pruned_records_total") > 0).then_some(())
    })
    .await;
    assert_eq!(database.records().await, 2);
    until("there were two turns", async || {
        (counts.of("idempotency_prune_batch_seconds") > 1).then_some(())
    })
    .await;
    assert_eq!(counts.of("idempotency_pruned_records_total"), 3);
    assert_eq!(counts.of("idempotency_prune_failures_total"), 0);
    database
        .execute("ALTER TABLE idempotency_keys RENAME TO gone")
        .await;
    until("it has failed", async || {
        (counts.of("idempotency_prune_failures_total") > 0).then_some(())
    })
    .await;
    database
        .execute("ALTER TABLE gone RENAME TO idempotency_keys")
        .await;
    database.expire_all().await;
    until("it works again", async || {
        (counts.of("idempotency_pruned_records_total") == 4).then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!((database.records().await, database.pending().await), (1, 1));
    database.discard().await;
}

thread_local! {
    /// What was logged on this thread, which is one test's.
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One subscriber for all threads: whether a place in the code is listened to is asked once for the process, and it may
/// be another test that comes by there first.
fn listen() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_writer(|| Log);
        subscriber.with_max_level(tracing::Level::WARN).init();
    });
    LOG.take();
}

async fn a_process_without_maintenance_says_so_once<K: Kind>() {
    listen();
    let said = || {
        let log = LOG.with_borrow(|log| String::from_utf8_lossy(log).into_owned());
        log.matches("no maintenance worker in this process").count()
    };
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let maintained = K::builder(&database).await.build().unwrap();
    let worker = maintained.spawn_maintenance();
    let service = actix_web::test::init_service(app(&maintained, &told)).await;
    let request = attempt("/hold/201", "k").to_request();
    let response = actix_web::test::call_service(&service, request).await;
    assert_eq!(response.status().as_u16(), 201);
    assert_eq!(said(), 0);
    worker.stop().await;
    let settings = K::builder(&database).await;
    assert_eq!(said(), 0, "before the first request nobody knows");
    let requests = ["l", "m", "n"].map(|key| attempt("/hold/201", key));
    send(settings, &told, requests.into()).await;
    assert_eq!(said(), 1);
    database.discard().await;
}

/// Takes its time, once.
struct Slow(web::Data<Told>);

impl Reconciler for Slow {
    async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
        self.0.say("asked");
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.0.say(operation.endpoint());
        Verdict::Unknown
    }
}

async fn a_worker_that_is_stopped_finishes_what_it_is_at<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    let failing = ["k", "l"].map(|key| attempt("/hold/500", key)).into();
    send(K::builder(&database).await, &told, failing).await;
    assert_eq!(database.pending().await, 2);
    let builder = K::builder(&database).await;
    let settings = builder.worker_interval(Duration::from_millis(10)).build();
    let worker = settings.unwrap().spawn_reconciler(Slow(told.clone()));
    until("it is asked", async || {
        (!told.words().is_empty()).then_some(())
    })
    .await;
    worker.stop().await;
    let words = told.words();
    let (asked, answered) = words.split_at(words.len() / 2);
    assert!(asked.iter().all(|word| word == "asked"), "{words:?}");
    let endpoint = "POST /hold/{status}";
    assert!(answered.iter().all(|word| word == endpoint), "{words:?}");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(told.words(), words, "it does not ask any more");
    database.discard().await;
}

async fn a_completion_worker_that_is_stopped_waits_for_its_requests<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    send(
        K::builder(&database).await,
        &told,
        vec![attempt("/slow", "k")],
    )
    .await;
    assert_eq!(database.pending().await, 1);
    let builder = K::builder(&database).await;
    let settings = builder.worker_interval(Duration::from_millis(10)).build();
    let settings = settings.unwrap();
    let worker = settings.spawn_completion({
        let (settings, told) = (settings.clone(), told.clone());
        move || app(&settings, &told)
    });
    until("it is run again", async || (told.runs() == 2).then_some(())).await;
    worker.stop().await;
    assert_eq!((told.runs(), database.pending().await), (2, 0));
    database.discard().await;
}

async fn no_interval_is_too_long<K: Kind>() {
    let database = K::database().await;
    let told = web::Data::<Told>::default();
    send(
        K::builder(&database).await,
        &told,
        vec![attempt("/hold/201", "k")],
    )
    .await;
    database.expire_all().await;
    let builder = K::builder(&database).await;
    let settings = builder.worker_interval(Duration::MAX).build().unwrap();
    let worker = settings.spawn_maintenance();
    until("it is pruned", async || {
        (database.records().await == 0).then_some(())
    })
    .await;
    worker.stop().await;
    database.discard().await;
}
