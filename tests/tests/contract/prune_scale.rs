//! Pruning does not become slower as it goes on, counted in blocks of the index. PostgreSQL keeps what was deleted in the
//! index until VACUUM, and for as long as anybody has an older snapshot.

use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use idem_runtime::Pruner;
use idem_tests::{Stage, on_postgres};

on_postgres! { the_last_batch_reads_as_little_of_the_index_as_the_first }

const ROWS: i64 = 50_000;
const BATCH: u32 = 1_000;

const FILL: &str = "
    ALTER TABLE idempotency_keys SET (autovacuum_enabled = off);
    INSERT INTO idempotency_keys
        (id, scope, key, endpoint, fingerprint, status, headers, body, recorded_at, expires_at)
    SELECT gen_random_uuid(), 's', n::text, 'e', '\\x00', 200, '', '\\x00', '2020-01-01',
        timestamptz '2020-01-02' + n * interval '1 millisecond' FROM generate_series(1, 50000) AS n;
    ANALYZE idempotency_keys";

async fn the_last_batch_reads_as_little_of_the_index_as_the_first(stage: &Stage) {
    drop(stage.start().await);
    stage.database.execute(FILL).await;
    let mut reader = connect(stage).await;
    let open = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM idempotency_keys";
    reader.batch_execute(open).await.unwrap();

    let mut connection = connect(stage).await;
    let mut pruner = Pruner::new();
    let mut blocks = Vec::new();
    for _ in 0..ROWS / i64::from(BATCH) {
        connection.batch_execute("BEGIN").await.unwrap();
        let before = blocks_read(&mut connection).await;
        let deleted = pruner.batch(&mut connection, BATCH).await.unwrap();
        assert_eq!(deleted, BATCH as usize);
        blocks.push(blocks_read(&mut connection).await - before);
        connection.batch_execute("COMMIT").await.unwrap();
    }
    assert_eq!(stage.database.records().await, 0);
    assert!(blocks[0] > 0, "{blocks:?}");
    let most = blocks.iter().max().unwrap();
    assert!(*most <= 3 * blocks[0], "{blocks:?}");
    reader.batch_execute("COMMIT").await.unwrap();
}

async fn connect(stage: &Stage) -> AsyncPgConnection {
    AsyncPgConnection::establish(stage.database.url())
        .await
        .unwrap()
}

#[derive(QueryableByName)]
struct Blocks {
    #[diesel(sql_type = BigInt)]
    blocks: i64,
}

/// By the connection's own count, which it gives away at the end of a transaction.
async fn blocks_read(connection: &mut AsyncPgConnection) -> i64 {
    use diesel_async::RunQueryDsl;
    let count =
        "SELECT pg_stat_get_xact_blocks_fetched('idempotency_keys_expires_at'::regclass) AS blocks";
    let row: Blocks = sql_query(count).get_result(connection).await.unwrap();
    row.blocks
}
