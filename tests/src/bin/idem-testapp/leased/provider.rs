//! The outside world: what it was asked for and what it says, on connections of its own. It de-duplicates nothing: it
//! writes every call down, so that anybody can see which ones came twice.

use std::collections::BTreeMap;
use std::error::Error;

use diesel::SqliteConnection;
use diesel::prelude::*;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection, AsyncMysqlConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection,
};

use crate::migrate::Url;

diesel::table! {
    calls (id) {
        id -> BigInt,
        label -> Text,
        key -> Text,
    }
}

diesel::table! {
    verdicts (key) {
        key -> Text,
        verdict -> Text,
    }
}

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs a query on a connection of its own, whichever backend that is of.
macro_rules! outside {
    ($url:expr, $connection:ident => $query:expr) => {
        match $url {
            Url::Mysql(url) => {
                let mut $connection = AsyncMysqlConnection::establish(url).await?;
                $query
            }
            Url::Postgres(url) => {
                let mut $connection = AsyncPgConnection::establish(url).await?;
                $query
            }
            Url::Sqlite(path) => {
                let mut $connection =
                    SyncConnectionWrapper::<SqliteConnection>::establish(path).await?;
                let patience = "PRAGMA busy_timeout = 5000";
                $connection.batch_execute(patience).await?;
                $query
            }
        }
    };
}

pub(crate) async fn call(url: &Url, label: &str, key: &str) -> Outcome<()> {
    outside!(url, connection => {
        let row = (calls::label.eq(label), calls::key.eq(key));
        diesel::insert_into(calls::table).values(row).execute(&mut connection).await?
    });
    Ok(())
}

/// How often it was called with each key.
pub(crate) async fn calls(url: &Url, label: &str) -> Outcome<BTreeMap<String, u64>> {
    let keys: Vec<String> = outside!(url, connection => {
        let of_label = calls::table.filter(calls::label.eq(label));
        of_label.select(calls::key).load(&mut connection).await?
    });
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    Ok(counts)
}

pub(crate) async fn was_called(url: &Url, key: &str) -> Outcome<bool> {
    let count: i64 = outside!(url, connection => {
        let of_key = calls::table.filter(calls::key.eq(key));
        of_key.count().get_result(&mut connection).await?
    });
    Ok(count > 0)
}

/// What an operator has said of the client's key.
pub(crate) async fn verdict(url: &Url, key: &str) -> Outcome<Option<String>> {
    let verdict = outside!(url, connection => {
        let of_key = verdicts::table.filter(verdicts::key.eq(key));
        of_key.select(verdicts::verdict).get_result(&mut connection).await.optional()?
    });
    Ok(verdict)
}
