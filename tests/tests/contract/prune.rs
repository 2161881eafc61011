//! Pruning: expired records go, in batches, from several callers at once; live ones stay.

use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use idem_tests::{Backend, Stage, on_both};

use crate::asking::{ask, assert_replay, marking};

const EXPIRED: i64 = 20_000;
const BATCH: u32 = 1_000;
const CALLERS: usize = 3;

on_both! { expired_records_are_pruned_and_live_ones_stay }

async fn expired_records_are_pruned_and_live_ones_stay(stage: &Stage) {
    let app = stage.start().await;
    stage.database.execute(&many_expired(stage.backend())).await;
    let live = ask("/account/script", "live", &marking("live"));
    let first = app.send(&live).await;
    assert_eq!(stage.database.records().await, EXPIRED + 1);

    let url = stage.database.url();
    let callers = (0..CALLERS).map(|_| prune_all(stage.backend(), url));
    let asking = async {
        for index in 0..20 {
            let answer = app
                .send(&ask(
                    "/account/script",
                    &format!("beside{index}"),
                    &marking("beside"),
                ))
                .await;
            assert_eq!(answer.status, 201);
        }
    };
    let (pruned, ()) = tokio::join!(futures_util::future::join_all(callers), asking);
    assert_eq!(
        pruned.iter().sum::<usize>(),
        usize::try_from(EXPIRED).unwrap()
    );
    assert_eq!(stage.database.records().await, 21);
    assert_replay(&first, &app.send(&live).await);
}

fn many_expired(backend: Backend) -> String {
    let columns = "INSERT INTO idempotency_keys
        (id, scope, key, endpoint, fingerprint, status, headers, body, recorded_at, expires_at) SELECT";
    match backend {
        Backend::Postgres => format!(
            "{columns} gen_random_uuid(), 's', n::text, 'e', '\\x00', 200, '', '\\x00', now() - interval '2 days',
                now() - interval '1 day' FROM generate_series(1, {EXPIRED}) AS n"
        ),
        Backend::Sqlite => format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {EXPIRED})
             {columns} randomblob(16), 's', n, 'e', x'00', 200, '', x'00', '2020-01-01 00:00:00.000',
                '2020-01-02 00:00:00.000' FROM numbers"
        ),
    }
}

/// What a cron job does.
async fn prune_all(backend: Backend, url: &str) -> usize {
    match backend {
        Backend::Postgres => {
            let mut connection = AsyncPgConnection::establish(url).await.unwrap();
            prune_with(&mut connection).await
        }
        Backend::Sqlite => {
            let path = url.strip_prefix("sqlite://").unwrap();
            let mut connection = SyncConnectionWrapper::<SqliteConnection>::establish(path)
                .await
                .unwrap();
            connection
                .batch_execute("PRAGMA busy_timeout = 10000")
                .await
                .unwrap();
            prune_with(&mut connection).await
        }
    }
}

async fn prune_with<C: idem_runtime::Backend>(connection: &mut C) -> usize {
    let mut total = 0;
    loop {
        let count = idem_runtime::prune(connection, BATCH).await.unwrap();
        assert!(count <= BATCH as usize);
        total += count;
        if count == 0 {
            return total;
        }
    }
}
