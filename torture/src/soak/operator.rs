//! Who looks after what nobody comes back for, by the runtime's public door; and the application's own housekeeping,
//! so that its tables do not grow beside the one that is looked at.

use std::time::Duration;

use actix_web::http::StatusCode;
use diesel::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection,
};
use idem_runtime::{RecordedResponse, Verdict, settle, unresolved};

use crate::Outcome;
use crate::backends::Backend;

/// Longer than a reconciler and a client that retries need.
const PATIENCE: Duration = Duration::from_secs(10);
const RETAIN: Duration = Duration::from_secs(2);
const LIMIT: u32 = 1_000;

/// MySQL does not let a DELETE look at its own table, only at what has been found there.
const HOUSEKEEPING: &str = "
DELETE FROM effects WHERE id <= (SELECT newest FROM (SELECT max(id) AS newest FROM effects) AS found) - 2000;
DELETE FROM calls WHERE id <= (SELECT newest FROM (SELECT max(id) AS newest FROM calls) AS found) - 2000";

/// How many operations were settled.
pub(crate) async fn round(backend: &dyn Backend) -> Outcome<u64> {
    backend.execute(HOUSEKEEPING).await?;
    backend.execute(&cut_short(backend)).await?;
    let url = backend.url_through(None);
    match backend.name() {
        "postgres" => settle_old(&mut AsyncPgConnection::establish(&url).await?).await,
        "mysql" => settle_old(&mut AsyncMysqlConnection::establish(&url).await?).await,
        _ => {
            let path = url.trim_start_matches("sqlite://");
            let mut connection = SyncConnectionWrapper::<SqliteConnection>::establish(path).await?;
            connection
                .batch_execute("PRAGMA busy_timeout = 10000")
                .await?;
            settle_old(&mut connection).await
        }
    }
}

/// What the reconciler has settled is honoured for the longest `retain` of all endpoints in lease mode, which is a day;
/// here it is to go like the rest.
fn cut_short(backend: &dyn Backend) -> String {
    format!(
        "UPDATE idempotency_keys SET expires_at = {}
          WHERE endpoint = 'POST /brief-hold/script' AND status IS NOT NULL AND recorded_at < {} AND expires_at > {}",
        backend.seconds_ago(1),
        backend.seconds_ago(2),
        backend.seconds_ago(0),
    )
}

async fn settle_old<C: idem_runtime::Backend>(connection: &mut C) -> Outcome<u64> {
    let mut settled = 0;
    for operation in unresolved(connection, LIMIT).await? {
        if operation.unresolved_for() < PATIENCE {
            continue;
        }
        let answer = RecordedResponse::new(StatusCode::GONE).body("nobody came back for it");
        let verdict = Verdict::Completed(answer);
        settled += u64::from(settle(connection, &operation, verdict, RETAIN).await?);
    }
    Ok(settled)
}
