//! What the server writes: WAL bytes by its own count, rows and dead row versions by its statistics.

use std::time::{Duration, Instant};

use idem_tests::Database;
use tokio::time::sleep;

use super::{Kind, ask};
use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Spread};

const WAL: &str = "WAL per request";
const ROWS: &str = "Rows written per request";
const DEAD: &str = "Dead row versions per request";

const REQUESTS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Written {
    wal: f64,
    mean_wal: f64,
    rows: f64,
    dead: f64,
}

#[derive(Clone, Copy)]
struct Counters {
    written: i64,
    dead: i64,
}

pub(super) async fn count(bench: &Bench, database: &Database, kind: Kind) -> Outcome<Written> {
    let app = bench.app(database).pool(1).start().await;
    let warm = kind.request(&app).await;
    ask(&app, &warm).await;
    let mut requests = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        requests.push(kind.request(&app).await);
    }
    app.kill().await;

    // A server process gives its counts away when its client is gone.
    let before = counters(database).await?;
    let app = bench.app(database).pool(1).start().await;
    let server = bench.connect().await?;
    let mut wal = Vec::with_capacity(REQUESTS);
    for request in &requests {
        let start: String = lsn(&server).await?;
        ask(&app, request).await;
        let difference =
            format!("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{start}')::float8");
        wal.push(server.query_one(&difference, &[]).await?.try_get(0)?);
    }
    app.kill().await;
    let after = counters(database).await?;
    let per_request = |count: i64| count as f64 / REQUESTS as f64;
    Ok(Written {
        mean_wal: wal.iter().sum::<f64>() / REQUESTS as f64,
        wal: Spread::of(wal).median,
        rows: per_request(after.written - before.written),
        dead: per_request(after.dead - before.dead),
    })
}

async fn lsn(server: &tokio_postgres::Client) -> Outcome<String> {
    let row = server
        .query_one("SELECT pg_current_wal_insert_lsn()::text", &[])
        .await?;
    Ok(row.try_get(0)?)
}

/// The counts once everybody else has gone.
async fn counters(database: &Database) -> Outcome<Counters> {
    let others = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    let start = Instant::now();
    while database.number(others).await > 0 {
        if start.elapsed() > PATIENCE {
            return Err("connections of the application stay open".into());
        }
        sleep(PAUSE).await;
    }
    let sum = async |columns: &str| {
        let sum = format!(
            "SELECT sum({columns})::bigint FROM pg_stat_user_tables
             WHERE relname IN ('effects', 'idempotency_keys', 'idempotency_outbox', 'byhand_keys')"
        );
        database.number(&sum).await
    };
    Ok(Counters {
        written: sum("n_tup_ins + n_tup_upd + n_tup_del").await,
        // An update and a delete leave one each; `n_dead_tup` would leave out those that are pruned at once.
        dead: sum("n_tup_upd + n_tup_del").await,
    })
}

impl Written {
    pub(super) fn figures(&self, kind: Kind) -> [Figure; 3] {
        [
            Figure::count(WAL, kind.name, self.wal, "B").note(format!(
                "median of {REQUESTS}; {:.0} B in the mean, with pages that split or are written whole",
                self.mean_wal
            )),
            Figure::count(ROWS, kind.name, self.rows, ""),
            Figure::count(DEAD, kind.name, self.dead, ""),
        ]
    }
}
