//! Records by the million, made by the server itself, of the size that the runtime writes. Measures nothing.

use idem_tests::Database;

use crate::Outcome;
use crate::bench::Bench;

/// When the records expire.
#[derive(Clone, Copy)]
pub(crate) enum Expiry {
    /// Spread over the next 24 hours.
    Ahead,
    /// Spread over the last 24 hours.
    Past,
}

/// Keys in no order, so that the index on them is as it becomes by itself, and bodies of 300 bytes.
pub(crate) async fn fill(database: &Database, count: u64, expiry: Expiry) {
    let expires_at = match expiry {
        Expiry::Ahead => "now() + n * interval '24 hours' /",
        Expiry::Past => "now() - interval '1 second' - n * interval '24 hours' /",
    };
    let insert = format!(
        "INSERT INTO idempotency_keys
            (id, scope, key, endpoint, fingerprint, status, headers, body, recorded_at, expires_at)
        SELECT md5('{count}' || random() || n)::uuid, 'account:bench', md5('k' || n), 'POST /account/script',
            substr(decode(repeat(md5('f' || n), 3), 'hex'), 1, 38), 200, E'content-type: application/json\n',
            substr(decode(repeat(md5('b' || n), 19), 'hex'), 1, 300), now(), {expires_at} {count}
        FROM generate_series(1, {count}) AS n"
    );
    if count > 0 {
        database.execute(&insert).await;
    }
}

/// What a table in use has come to: counted, its hint bits set, and on disk.
pub(crate) async fn settle(bench: &Bench, database: &Database) -> Outcome {
    database.execute("VACUUM (ANALYZE) idempotency_keys").await;
    bench.checkpoint().await
}

/// Bytes of the table without, and of its indexes.
pub(crate) async fn sizes(database: &Database) -> (i64, i64) {
    (
        database
            .number("SELECT pg_table_size('idempotency_keys')")
            .await,
        database
            .number("SELECT pg_indexes_size('idempotency_keys')")
            .await,
    )
}
