//! What the database holds: rows, what they take, what is left behind them, who is connected.

use std::fs;

use super::figure::{Figure, Kind};
use crate::Outcome;
use crate::backends::{Backend, two};

/// No handler of a soak keeps its transaction for so long by far.
const POSTGRES: &str = "
SELECT 'rows' AS a, CAST(count(*) AS text) AS b FROM idempotency_keys
UNION ALL
SELECT 'pending rows', CAST(count(*) AS text) FROM idempotency_keys WHERE status IS NULL
UNION ALL
SELECT 'table and indexes', CAST(pg_total_relation_size('idempotency_keys') AS text)
UNION ALL
SELECT 'dead tuples', CAST(n_dead_tup AS text) FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'
UNION ALL
SELECT 'advisory locks', CAST(count(*) AS text) FROM pg_locks
 WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
UNION ALL
SELECT 'connections', CAST(count(*) AS text) FROM pg_stat_activity
 WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
UNION ALL
SELECT 'connections idle in transaction', CAST(count(*) AS text) FROM pg_stat_activity
 WHERE datname = current_database() AND state LIKE 'idle in transaction%'
UNION ALL
SELECT 'transactions of 10 s', CAST(count(*) AS text) FROM pg_stat_activity
 WHERE datname = current_database() AND backend_type = 'client backend'
   AND xact_start < pg_catalog.clock_timestamp() - interval '10 seconds'";

const MYSQL: &str = "
SELECT 'rows' AS a, count(*) || '' AS b FROM idempotency_keys
UNION ALL
SELECT 'pending rows', count(*) || '' FROM idempotency_keys WHERE status IS NULL
UNION ALL
SELECT 'table and indexes', (data_length + index_length) || '' FROM information_schema.tables
 WHERE table_schema = database() AND table_name = 'idempotency_keys'
UNION ALL
SELECT 'advisory locks', count(*) || '' FROM performance_schema.metadata_locks WHERE object_type = 'USER LEVEL LOCK'
UNION ALL
SELECT 'connections', count(*) || '' FROM information_schema.processlist
 WHERE db = database() AND id <> connection_id()
UNION ALL
SELECT 'connections idle in transaction', count(*) || '' FROM information_schema.innodb_trx
  JOIN information_schema.processlist ON id = trx_mysql_thread_id
 WHERE db = database() AND command = 'Sleep'
UNION ALL
SELECT 'transactions of 10 s', count(*) || '' FROM information_schema.innodb_trx
  JOIN information_schema.processlist ON id = trx_mysql_thread_id
 WHERE db = database() AND trx_started < now() - INTERVAL 10 SECOND";

const SQLITE: &str = "
SELECT 'rows' AS a, CAST(count(*) AS text) AS b FROM idempotency_keys
UNION ALL
SELECT 'pending rows', CAST(count(*) AS text) FROM idempotency_keys WHERE status IS NULL
UNION ALL
SELECT 'pages of the file', CAST(page_count AS text) FROM pragma_page_count
UNION ALL
SELECT 'free pages', CAST(freelist_count AS text) FROM pragma_freelist_count";

pub(crate) async fn figures(backend: &dyn Backend) -> Outcome<Vec<Figure>> {
    let query = match backend.name() {
        "postgres" => POSTGRES,
        "mysql" => MYSQL,
        _ => SQLITE,
    };
    let mut figures = Vec::new();
    for row in backend.rows(query).await? {
        let (name, value) = two(row)?;
        figures.push(Figure::new(name.as_str(), kind(&name), value.parse()?));
    }
    if let Some(path) = backend.url_through(None).strip_prefix("sqlite://") {
        for (name, ending) in [("file", ""), ("write-ahead log", "-wal")] {
            // There is no log before the first write.
            let length = fs::metadata(format!("{path}{ending}")).map_or(0, |file| file.len());
            figures.push(Figure::new(name, kind(name), length as f64));
        }
    }
    Ok(figures)
}

fn kind(name: &str) -> Kind {
    match name {
        "rows" | "pending rows" => Kind::Many,
        "table and indexes" | "file" | "write-ahead log" => Kind::Disk,
        "dead tuples" => Kind::Garbage,
        "advisory locks" | "connections" | "connections idle in transaction" => Kind::Few,
        "transactions of 10 s" => Kind::Never,
        _ => Kind::Shown,
    }
}
