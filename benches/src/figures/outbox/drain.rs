//! A full outbox through a relay to a broker, against the same messages from memory through the same publisher, as many of
//! them under way at once: what the table costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::SqliteConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::bb8::Pool;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use futures_util::{StreamExt, stream};
use idem_runtime::outbox::{OutboxMessage, OutboxRelay, PublishError, Publisher};
use idem_runtime::pool::{ConnectionPool, postgres_config, sqlite_config};
use idem_tests::{Backend, Database};
use tokio::sync::Notify;

use super::brokers::{Broker, Nats, Rabbit};
use super::queued::{fill, in_memory};
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::Figure;
use crate::rounds::{interleaved, ratio};

const MESSAGES: u64 = 100_000;
const QUICK_MESSAGES: u64 = 2_000;
const POOL: u32 = 4;

/// How a relay is set.
#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    batch: u32,
    concurrency: usize,
}

const DEFAULTS: Setting = Setting {
    name: "16 at once in batches of 100 (the defaults)",
    batch: 100,
    concurrency: 16,
};
const LARGE: Setting = Setting {
    name: "64 at once in batches of 1,000",
    batch: 1_000,
    concurrency: 64,
};

/// Where messages come from.
#[derive(Clone, Copy)]
enum Source {
    Memory,
    Postgres,
    /// Over connections whose commits do not wait for the disk: after a crash of the server messages come again.
    PostgresAsynchronous,
    /// Each message in one of so many orders.
    PostgresInOrder(u32),
    Sqlite,
}

/// Each that is compared, and the place of what it is compared with.
const SIDES: [(Source, Setting, usize); 8] = [
    (Source::Memory, DEFAULTS, 0),
    (Source::Memory, LARGE, 1),
    (Source::Postgres, DEFAULTS, 0),
    (Source::Postgres, LARGE, 1),
    (Source::PostgresAsynchronous, DEFAULTS, 0),
    (Source::PostgresAsynchronous, LARGE, 1),
    (Source::PostgresInOrder(1_000), DEFAULTS, 0),
    (Source::Sqlite, DEFAULTS, 0),
];

/// The databases that are drained.
struct Stage {
    postgres: Database,
    postgres_pool: Pool<AsyncPgConnection>,
    asynchronous_pool: Pool<AsyncPgConnection>,
    sqlite: Database,
    sqlite_pool: Pool<SyncConnectionWrapper<SqliteConnection>>,
}

pub(super) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    let stage = Stage::set(bench).await?;
    let mut figures = through::<Nats>(bench, &stage).await?;
    match through::<Rabbit>(bench, &stage).await {
        Ok(more) => figures.extend(more),
        Err(error) => eprintln!("idem-bench:   RabbitMQ is left out: {error}"),
    }
    stage.strike().await;
    Ok(figures)
}

async fn through<B: Broker>(bench: &Bench, stage: &Stage) -> Outcome<Vec<Figure>> {
    let broker = B::start().await?;
    let publisher = Arc::new(broker.publisher()?);
    let messages = if bench.options.quick {
        QUICK_MESSAGES
    } else {
        MESSAGES
    };
    eprintln!("idem-bench:   {messages} messages to {}", B::NAME);
    let send = async |(source, setting, _): (Source, Setting, usize), count: u64| {
        let took = match source {
            Source::Memory => direct(&*publisher, count, setting).await?,
            _ => {
                stage.fill(bench, source, count).await?;
                let publisher = Arc::clone(&publisher);
                stage.drain(source, setting, count, publisher).await?
            }
        };
        let arrived = broker.empty().await?;
        if arrived != count {
            return Err(format!("{arrived} of {count} messages have arrived").into());
        }
        let rate = count as f64 / took.as_secs_f64();
        if bench.options.verbose {
            let source = source.name();
            eprintln!("idem-bench:     {source}, {}: {rate:.0}/s", setting.name);
        }
        Outcome::Ok(rate)
    };
    for side in SIDES {
        send(side, messages / 10).await?;
    }
    let rounds = bench.options.rounds();
    let rates = interleaved(rounds, SIDES.len(), async |side: usize| {
        send(SIDES[side], messages).await
    })
    .await?;
    let group = format!("Draining {messages} queued messages to {}", B::NAME);
    let compared = SIDES.iter().enumerate();
    let compared = compared.filter(|(own, (.., other))| own != other);
    let figures = compared.map(|(own, (source, setting, other))| {
        let spread = ratio(&rates[own], &rates[*other], |rate| *rate);
        let name = format!("{} / memory, {}", source.name(), setting.name);
        Figure::ratio(&group, name, spread)
    });
    Ok(figures.collect())
}

/// How long it takes until the last one is acknowledged.
async fn direct(publisher: &impl Publisher, count: u64, setting: Setting) -> Outcome<Duration> {
    let messages = in_memory(count);
    let start = Instant::now();
    let published = stream::iter(&messages).map(|message| publisher.publish(message));
    let mut published = published.buffer_unordered(setting.concurrency);
    while let Some(published) = published.next().await {
        published?;
    }
    Ok(start.elapsed())
}

impl Stage {
    async fn set(bench: &Bench) -> Outcome<Self> {
        let postgres = bench.database(Backend::Postgres).await;
        let sqlite = bench.database(Backend::Sqlite).await;
        for database in [&postgres, &sqlite] {
            // It makes the tables.
            drop(bench.app(database).start().await);
        }
        let asynchronous = format!("{}?options=-c%20synchronous_commit%3Doff", postgres.url());
        let manager = AsyncDieselConnectionManager::new_with_config(sqlite.url(), sqlite_config());
        Ok(Self {
            postgres_pool: postgres_pool(postgres.url()).await?,
            asynchronous_pool: postgres_pool(&asynchronous).await?,
            sqlite_pool: Pool::builder().max_size(POOL).build(manager).await?,
            postgres,
            sqlite,
        })
    }

    async fn strike(self) {
        drop((self.postgres_pool, self.asynchronous_pool, self.sqlite_pool));
        self.postgres.discard().await;
        self.sqlite.discard().await;
    }

    async fn fill(&self, bench: &Bench, source: Source, count: u64) -> Outcome {
        let (database, empty) = match source {
            Source::Sqlite => (&self.sqlite, "DELETE FROM idempotency_outbox"),
            _ => (&self.postgres, "TRUNCATE idempotency_outbox"),
        };
        database.execute(empty).await;
        let orders = match source {
            Source::PostgresInOrder(orders) => Some(orders),
            _ => None,
        };
        fill(bench, database, count, orders).await
    }

    async fn drain<P: Publisher>(
        &self,
        source: Source,
        setting: Setting,
        count: u64,
        publisher: Arc<P>,
    ) -> Outcome<Duration> {
        let (database, took) = match source {
            Source::Sqlite => {
                let pool = self.sqlite_pool.clone();
                let took = relay(pool, publisher, count, setting).await?;
                (&self.sqlite, took)
            }
            Source::PostgresAsynchronous => {
                let pool = self.asynchronous_pool.clone();
                let took = relay(pool, publisher, count, setting).await?;
                (&self.postgres, took)
            }
            _ => {
                let pool = self.postgres_pool.clone();
                let took = relay(pool, publisher, count, setting).await?;
                (&self.postgres, took)
            }
        };
        let left = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NULL";
        match database.number(left).await {
            0 => Ok(took),
            left => Err(format!("{left} messages are left").into()),
        }
    }
}

async fn postgres_pool(url: &str) -> Outcome<Pool<AsyncPgConnection>> {
    let manager = AsyncDieselConnectionManager::new_with_config(url, postgres_config());
    Ok(Pool::builder().max_size(POOL).build(manager).await?)
}

/// How long it takes until it is written down of all of them that they have arrived.
async fn relay<C: idem_runtime::Backend, P: Publisher>(
    pool: impl ConnectionPool<C>,
    publisher: Arc<P>,
    count: u64,
    setting: Setting,
) -> Outcome<Duration> {
    let left = Arc::new(Left {
        count: AtomicU64::new(count),
        none: Notify::new(),
    });
    let counted = Counted {
        publisher,
        left: Arc::clone(&left),
    };
    let relay = OutboxRelay::builder(pool, counted)
        .batch(setting.batch)
        .concurrency(setting.concurrency)
        .build()?;
    let start = Instant::now();
    relay.run(left.none.notified()).await;
    Ok(start.elapsed())
}

/// The publisher, and how many messages it is still to publish.
struct Counted<P> {
    publisher: Arc<P>,
    left: Arc<Left>,
}

struct Left {
    count: AtomicU64,
    none: Notify,
}

impl<P: Publisher> Publisher for Counted<P> {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        self.publisher.publish(message).await?;
        if self.left.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.left.none.notify_one();
        }
        Ok(())
    }
}

impl Source {
    fn name(self) -> String {
        match self {
            Self::Memory => "memory".into(),
            Self::Postgres => "PostgreSQL".into(),
            Self::PostgresAsynchronous => "PostgreSQL, synchronous_commit=off".into(),
            Self::PostgresInOrder(orders) => format!("PostgreSQL, in {orders} orders"),
            Self::Sqlite => "SQLite".into(),
        }
    }
}
