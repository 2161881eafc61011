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

/// What is measured.
#[derive(Clone, Copy)]
enum Side {
    /// From memory.
    Direct(Setting),
    /// From a table of this backend; in so many orders.
    Relay(Backend, Setting, Option<u32>),
}

/// Each that is compared, and the place of what it is compared with.
const SIDES: [(Side, usize); 6] = [
    (Side::Direct(DEFAULTS), 0),
    (Side::Direct(LARGE), 1),
    (Side::Relay(Backend::Postgres, DEFAULTS, None), 0),
    (Side::Relay(Backend::Postgres, LARGE, None), 1),
    (Side::Relay(Backend::Postgres, DEFAULTS, Some(1_000)), 0),
    (Side::Relay(Backend::Sqlite, DEFAULTS, None), 0),
];

/// The databases that are drained.
struct Stage {
    postgres: (Database, Pool<AsyncPgConnection>),
    sqlite: (Database, Pool<SyncConnectionWrapper<SqliteConnection>>),
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
    let send = async |side: Side, count: u64| {
        let took = match side {
            Side::Direct(setting) => direct(&*publisher, count, setting).await?,
            Side::Relay(..) => {
                stage
                    .drain(bench, side, count, Arc::clone(&publisher))
                    .await?
            }
        };
        let arrived = broker.empty().await?;
        if arrived != count {
            return Err(format!("{arrived} of {count} messages have arrived").into());
        }
        let rate = count as f64 / took.as_secs_f64();
        if bench.options.verbose {
            eprintln!("idem-bench:     {}: {rate:.0}/s", side.name());
        }
        Outcome::Ok(rate)
    };
    for (side, _) in SIDES {
        send(side, messages / 10).await?;
    }
    let rounds = bench.options.rounds();
    let rates = interleaved(rounds, SIDES.len(), async |side: usize| {
        send(SIDES[side].0, messages).await
    })
    .await?;
    let group = format!("Draining the outbox to {}", B::NAME);
    let compared = SIDES.iter().enumerate();
    let compared = compared.filter(|(own, (_, other))| own != other);
    let figures = compared.map(|(own, (side, other))| {
        let spread = ratio(&rates[own], &rates[*other], |rate| *rate);
        Figure::ratio(&group, format!("{} / from memory", side.name()), spread)
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
        let manager =
            AsyncDieselConnectionManager::new_with_config(postgres.url(), postgres_config());
        let postgres_pool = Pool::builder().max_size(POOL).build(manager).await?;
        let manager = AsyncDieselConnectionManager::new_with_config(sqlite.url(), sqlite_config());
        let sqlite_pool = Pool::builder().max_size(POOL).build(manager).await?;
        Ok(Self {
            postgres: (postgres, postgres_pool),
            sqlite: (sqlite, sqlite_pool),
        })
    }

    async fn strike(self) {
        drop(self.postgres.1);
        drop(self.sqlite.1);
        self.postgres.0.discard().await;
        self.sqlite.0.discard().await;
    }

    async fn drain<P: Publisher>(
        &self,
        bench: &Bench,
        side: Side,
        count: u64,
        publisher: Arc<P>,
    ) -> Outcome<Duration> {
        let Side::Relay(backend, setting, orders) = side else {
            return Err("nothing is drained".into());
        };
        match backend {
            Backend::Postgres => {
                let (database, pool) = &self.postgres;
                fill(bench, database, count, orders).await?;
                let took = relay(pool.clone(), publisher, count, setting).await?;
                clear(database, "TRUNCATE idempotency_outbox").await?;
                Ok(took)
            }
            Backend::Sqlite => {
                let (database, pool) = &self.sqlite;
                fill(bench, database, count, orders).await?;
                let took = relay(pool.clone(), publisher, count, setting).await?;
                clear(database, "DELETE FROM idempotency_outbox").await?;
                Ok(took)
            }
        }
    }
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

async fn clear(database: &Database, statement: &str) -> Outcome {
    let left = "SELECT count(*) FROM idempotency_outbox WHERE sent_at IS NULL";
    let left = database.number(left).await;
    if left > 0 {
        return Err(format!("{left} messages are left").into());
    }
    database.execute(statement).await;
    Ok(())
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

impl Side {
    fn name(self) -> String {
        match self {
            Self::Direct(setting) => format!("from memory, {}", setting.name),
            Self::Relay(backend, setting, orders) => {
                let orders = orders.map_or(String::new(), |orders| format!(", in {orders} orders"));
                format!("{backend:?}{orders}, {}", setting.name)
            }
        }
    }
}
