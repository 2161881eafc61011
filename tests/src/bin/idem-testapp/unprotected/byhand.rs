//! The flow that books and blog posts teach, written inside the handler: the key first, without a response; the work;
//! the response into the key's row; COMMIT. Each is a round trip of its own.

use actix_web::HttpResponse;
use diesel::SqliteConnection;
use diesel::prelude::*;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use idem_runtime::pool::ConnectionPool;

use super::stored::{Stored, perform};
use super::transaction::{Connection, Ending, in_transaction};
use crate::failure::Failure;
use crate::script::Script;
use crate::tools::Tools;

diesel::table! {
    byhand_keys (account, key) {
        account -> Text,
        key -> Text,
        status -> Nullable<Integer>,
        headers -> Nullable<Text>,
        body -> Nullable<Binary>,
    }
}

type Row = (Option<i32>, Option<String>, Option<Vec<u8>>);

pub(super) async fn run<C: Connection>(
    account: &str,
    key: &str,
    script: &Script,
    tools: &Tools,
    pool: &dyn ConnectionPool<C>,
) -> Result<HttpResponse, Failure> {
    in_transaction(pool, async |connection| {
        if !connection.insert_key(account, key).await? {
            let row = connection.read_key(account, key).await?;
            return Ok((finished(row), Ending::RollBack));
        }
        let (response, stored) = perform(script, tools, connection).await?;
        let Some(stored) = stored else {
            return Ok((response, Ending::RollBack));
        };
        connection.finish_key(account, key, &stored).await?;
        Ok((response, Ending::Commit))
    })
    .await
}

fn finished(row: Row) -> HttpResponse {
    match row {
        (Some(status), Some(headers), Some(body)) => {
            let body = body.into();
            let stored = Stored {
                status,
                headers,
                body,
            };
            stored.response()
        }
        _ => HttpResponse::Conflict().body("in flight"),
    }
}

/// The table of keys.
pub(super) trait Keys {
    /// Whether the key is new.
    async fn insert_key(&mut self, account: &str, key: &str) -> QueryResult<bool>;
    async fn read_key(&mut self, account: &str, key: &str) -> QueryResult<Row>;
    async fn finish_key(&mut self, account: &str, key: &str, stored: &Stored) -> QueryResult<()>;
}

macro_rules! keys {
    ($connection:ty) => {
        impl Keys for $connection {
            async fn insert_key(&mut self, account: &str, key: &str) -> QueryResult<bool> {
                let written = diesel::insert_into(byhand_keys::table)
                    .values((byhand_keys::account.eq(account), byhand_keys::key.eq(key)))
                    .on_conflict_do_nothing()
                    .execute(self)
                    .await?;
                Ok(written == 1)
            }

            async fn read_key(&mut self, account: &str, key: &str) -> QueryResult<Row> {
                byhand_keys::table
                    .find((account, key))
                    .select((byhand_keys::status, byhand_keys::headers, byhand_keys::body))
                    .get_result(self)
                    .await
            }

            async fn finish_key(
                &mut self,
                account: &str,
                key: &str,
                stored: &Stored,
            ) -> QueryResult<()> {
                diesel::update(byhand_keys::table.find((account, key)))
                    .set((
                        byhand_keys::status.eq(stored.status),
                        byhand_keys::headers.eq(&stored.headers),
                        byhand_keys::body.eq(&stored.body[..]),
                    ))
                    .execute(self)
                    .await?;
                Ok(())
            }
        }
    };
}

keys!(AsyncPgConnection);
keys!(SyncConnectionWrapper<SqliteConnection>);
