//! Pruning: expired records go, in batches, from several pruners at once, wherever those have come to; live and pending
//! ones stay.

use std::ops::Range;

use diesel::r2d2::{ConnectionManager, CustomizeConnection, Error, Pool, R2D2Connection};
use diesel::{PgConnection, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use futures_util::future::join_all;
use idem_runtime::pool::{self, ConnectionPool};
use idem_runtime::{Blocking, Pruner};
use idem_tests::{Backend, Stage, Style, in_both_styles, in_both_styles_on_postgres};

use crate::asking::{ask, assert_replay, marking};

in_both_styles! {
    expired_records_are_pruned_and_live_ones_stay,
    two_pruners_delete_every_record_once,
    a_record_that_expired_before_where_the_pruner_is_goes_too,
    a_batch_is_as_large_as_asked_for_while_there_are_records,
    pending_rows_stay,
}

in_both_styles_on_postgres! { locked_records_are_skipped_and_deleted_later }

const BATCH: u32 = 1_000;

async fn expired_records_are_pruned_and_live_ones_stay(stage: &Stage) {
    let app = stage.start().await;
    expired(stage, 0..20_000).await;
    let live = ask("/account/script", "live", &marking("live"));
    let first = app.send(&live).await;
    assert_eq!(stage.database.records().await, 20_001);

    let callers = (0..3).map(|_| prune_all(stage));
    let asking = async {
        for index in 0..20 {
            let key = format!("beside{index}");
            let request = ask("/account/script", &key, &marking("beside"));
            assert_eq!(app.send(&request).await.status, 201);
        }
    };
    let (pruned, ()) = tokio::join!(join_all(callers), asking);
    assert_eq!(pruned.iter().sum::<usize>(), 20_000);
    assert_eq!(stage.database.records().await, 21);
    assert_replay(&first, &app.send(&live).await);
}

async fn two_pruners_delete_every_record_once(stage: &Stage) {
    drop(stage.start().await);
    expired(stage, 0..7_500).await;
    let pruned = join_all((0..2).map(|_| prune_all(stage))).await;
    assert_eq!(pruned.iter().sum::<usize>(), 7_500);
    assert_eq!(stage.database.records().await, 0);
}

/// Retentions differ, and clocks are set back.
async fn a_record_that_expired_before_where_the_pruner_is_goes_too(stage: &Stage) {
    drop(stage.start().await);
    expired(stage, 100..110).await;
    let (mut hand, mut pruner) = (Hand::of(stage).await, Pruner::new());
    assert_eq!(hand.batch(&mut pruner, 4).await, 4);
    expired(stage, 0..1).await;
    assert_eq!(hand.batch(&mut pruner, 4).await, 4);
    assert_eq!(hand.batch(&mut pruner, 4).await, 3);
    assert_eq!(stage.database.records().await, 0);
}

async fn a_batch_is_as_large_as_asked_for_while_there_are_records(stage: &Stage) {
    drop(stage.start().await);
    let (mut hand, mut pruner) = (Hand::of(stage).await, Pruner::new());
    let mut left = 0;
    for (round, limit) in [7, 1, 20, 4, 9, 2, 30, 5, 5, 40, 3].into_iter().enumerate() {
        // Each time before all that there was.
        let start = 1_000 - 10 * i64::try_from(round).unwrap();
        expired(stage, start..start + 8).await;
        left += 8;
        let deleted = hand.batch(&mut pruner, limit).await;
        assert_eq!(deleted, left.min(limit as usize), "round {round}");
        left -= deleted;
        let records = stage.database.records().await;
        assert_eq!(records, i64::try_from(left).unwrap(), "round {round}");
    }
}

async fn pending_rows_stay(stage: &Stage) {
    drop(stage.start().await);
    let (mut hand, mut pruner) = (Hand::of(stage).await, Pruner::new());
    for (status, expires_at) in [("NULL", "expires_at"), ("NULL", "NULL"), ("200", "NULL")] {
        expired(stage, 0..10).await;
        let pending = format!(
            "UPDATE idempotency_keys SET status = {status}, expires_at = {expires_at}, endpoint = 'pending'
             WHERE \"key\" IN ('3', '9') AND endpoint = 'e'"
        );
        stage.database.execute(&pending).await;
        assert_eq!(hand.batch(&mut pruner, 5).await, 5);
        assert_eq!(hand.batch(&mut pruner, 5).await, 3);
    }
    assert_eq!(hand.batch(&mut pruner, 5).await, 0);
    assert_eq!(stage.database.records().await, 6);
}

async fn locked_records_are_skipped_and_deleted_later(stage: &Stage) {
    drop(stage.start().await);
    expired(stage, 0..10).await;
    let mut other = AsyncPgConnection::establish(stage.database.url())
        .await
        .unwrap();
    let lock = "BEGIN; SELECT FROM idempotency_keys WHERE key::int < 5 FOR UPDATE";
    other.batch_execute(lock).await.unwrap();
    let (mut hand, mut pruner) = (Hand::of(stage).await, Pruner::new());
    assert_eq!(hand.batch(&mut pruner, 3).await, 3);
    assert_eq!(hand.batch(&mut pruner, 3).await, 2);
    assert_eq!(hand.batch(&mut pruner, 3).await, 0);
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(hand.batch(&mut pruner, 3).await, 3);
    assert_eq!(hand.batch(&mut pruner, 3).await, 2);
    assert_eq!(stage.database.records().await, 0);
}

/// What a cron job does. How many it has deleted.
async fn prune_all(stage: &Stage) -> usize {
    let (mut hand, mut pruner) = (Hand::of(stage).await, Pruner::new());
    let mut total = 0;
    loop {
        let deleted = hand.batch(&mut pruner, BATCH).await;
        assert!(deleted <= BATCH as usize);
        total += deleted;
        if deleted == 0 {
            return total;
        }
    }
}

/// A connection of its own to prune with.
enum Hand {
    Postgres(Box<AsyncPgConnection>),
    Mysql(Box<AsyncMysqlConnection>),
    Sqlite(SyncConnectionWrapper<SqliteConnection>),
    PostgresBlocking(Blocking<PgConnection>),
    SqliteBlocking(Blocking<SqliteConnection>),
    #[cfg(feature = "mysql-blocking")]
    MysqlBlocking(Blocking<diesel::MysqlConnection>),
}

impl Hand {
    async fn of(stage: &Stage) -> Self {
        let url = stage.database.url();
        match (stage.backend(), stage.style()) {
            (Backend::Postgres, Style::Blocking) => {
                Self::PostgresBlocking(lent(url, pool::postgres_customizer()).await)
            }
            (Backend::Sqlite, Style::Blocking) => {
                let path = url.strip_prefix("sqlite://").unwrap();
                Self::SqliteBlocking(lent(path, pool::sqlite_customizer()).await)
            }
            (Backend::Postgres, Style::Asynchronous) => {
                let connection = AsyncPgConnection::establish(url).await.unwrap();
                Self::Postgres(Box::new(connection))
            }
            #[cfg(feature = "mysql-blocking")]
            (Backend::Mysql, Style::Blocking) => {
                Self::MysqlBlocking(lent(url, pool::mysql_customizer()).await)
            }
            (Backend::Mysql, _) => {
                let connection = AsyncMysqlConnection::establish(url).await.unwrap();
                Self::Mysql(Box::new(connection))
            }
            (Backend::Sqlite, Style::Asynchronous) => {
                let path = url.strip_prefix("sqlite://").unwrap();
                let mut connection = SyncConnectionWrapper::establish(path).await.unwrap();
                let patience = "PRAGMA busy_timeout = 10000";
                connection.batch_execute(patience).await.unwrap();
                Self::Sqlite(connection)
            }
        }
    }

    async fn batch(&mut self, pruner: &mut Pruner, limit: u32) -> usize {
        let deleted = match self {
            Self::Postgres(connection) => pruner.batch(&mut **connection, limit).await,
            Self::Mysql(connection) => pruner.batch(&mut **connection, limit).await,
            Self::Sqlite(connection) => pruner.batch(connection, limit).await,
            Self::PostgresBlocking(connection) => pruner.batch(connection, limit).await,
            Self::SqliteBlocking(connection) => pruner.batch(connection, limit).await,
            #[cfg(feature = "mysql-blocking")]
            Self::MysqlBlocking(connection) => pruner.batch(connection, limit).await,
        };
        deleted.unwrap()
    }
}

/// A connection of a pool of its own.
async fn lent<C>(url: &str, customizer: Box<dyn CustomizeConnection<C, Error>>) -> Blocking<C>
where
    C: idem_runtime::BlockingBackend + R2D2Connection,
{
    let pool = Pool::builder()
        .max_size(2)
        .connection_customizer(customizer)
        .build_unchecked(ConnectionManager::<C>::new(url));
    pool.dedicate().await.unwrap()
}

/// Records that expired a day ago, each a second after the one before. Their numbers are their keys.
async fn expired(stage: &Stage, numbers: Range<i64>) {
    let columns = "INSERT INTO idempotency_keys
        (id, scope, \"key\", endpoint, fingerprint, status, headers, body, recorded_at, expires_at) SELECT";
    let Range { start, end } = numbers;
    let insert = match stage.backend() {
        Backend::Postgres => format!(
            "{columns} gen_random_uuid(), 's', n::text, 'e', '\\x00', 200, '', '\\x00', '2020-01-01',
                timestamptz '2020-01-02' + n * interval '1 second' FROM generate_series({start}, {end} - 1) AS n"
        ),
        Backend::Mysql => format!(
            "{columns} random_bytes(16), 's', n, 'e', x'00', 200, '', x'00', '2020-01-01',
                timestampadd(SECOND, n, '2020-01-02') FROM (SELECT seq AS n FROM seq_{start}_to_{last}) AS numbers",
            last = end - 1,
        ),
        Backend::Sqlite => format!(
            "WITH RECURSIVE numbers (n) AS (SELECT {start} UNION ALL SELECT n + 1 FROM numbers WHERE n < {end} - 1)
             {columns} randomblob(16), 's', n, 'e', x'00', 200, '', x'00', '2020-01-01 00:00:00.000',
                strftime('%Y-%m-%d %H:%M:%f', '2020-01-02', n || ' seconds') FROM numbers"
        ),
    };
    stage.database.execute(&insert).await;
}
