//! The work and the record, in one transaction, and nothing else: no claim, no look. It protects nobody. Benchmarks
//! measure with it what the record costs by itself, sent as fast as diesel-async can; nothing else should use it.

use actix_web::HttpResponse;
use actix_web::web::Bytes;
use diesel::backend::Backend;
use diesel::connection::{AnsiTransactionManager as Blocking, TransactionManager as _};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Binary, SmallInt, Text, Uuid};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, SimpleAsyncConnection, TransactionManager as _,
};
use futures_util::try_join;
use idem_runtime::pool::ConnectionPool;
use sha2::{Digest, Sha256};

use super::stored::{Stored, perform};
use super::transaction::{Connection, Ending, in_transaction};
use crate::failure::Failure;
use crate::script::Script;
use crate::tools::Tools;

/// The name of the protected endpoint that this one is compared with: both write rows of the same size.
const ENDPOINT: &str = "POST /account/script";
const FINGERPRINT: [u8; 38] = [1; 38];
const INSERT: &str = "INSERT INTO idempotency_keys \
     (id, scope, key, endpoint, fingerprint, status, headers, body, recorded_at, expires_at) VALUES (";

pub(super) async fn run<C: Connection>(
    account: &str,
    key: &str,
    script: &Script,
    tools: &Tools,
    pool: &dyn ConnectionPool<C>,
) -> Result<HttpResponse, Failure> {
    in_transaction(pool, async |connection| {
        let (response, stored) = perform(script, tools, connection).await?;
        let Some(stored) = stored else {
            return Ok((response, Ending::RollBack));
        };
        connection
            .insert_and_commit(Record::new(account, key, stored))
            .await?;
        Ok((response, Ending::Committed))
    })
    .await
}

pub(super) trait Records {
    async fn insert_and_commit(&mut self, record: Record) -> QueryResult<()>;
}

/// The first use of a connection prepares the INSERT and so lets COMMIT overtake it, which then commits by itself: what
/// the runtime must never do, and good enough here.
impl Records for AsyncPgConnection {
    async fn insert_and_commit(&mut self, record: Record) -> QueryResult<()> {
        let shared: &Self = self;
        let insert = diesel_async::RunQueryDsl::execute(record, &mut &*shared);
        let commit = async { (&mut &*shared).batch_execute("COMMIT").await };
        try_join!(insert, commit)?;
        *AnsiTransactionManager::transaction_manager_status_mut(self) = Default::default();
        Ok(())
    }
}

impl Records for SyncConnectionWrapper<SqliteConnection> {
    async fn insert_and_commit(&mut self, record: Record) -> QueryResult<()> {
        self.spawn_blocking(move |connection| {
            diesel::RunQueryDsl::execute(record, connection)?;
            Blocking::commit_transaction(connection)
        })
        .await
    }
}

impl diesel::RunQueryDsl<SqliteConnection> for Record {}

#[derive(QueryId)]
pub(super) struct Record {
    id: uuid::Uuid,
    scope: String,
    key: String,
    status: i16,
    headers: String,
    body: Bytes,
}

impl Record {
    fn new(account: &str, key: &str, stored: Stored) -> Self {
        let scope = format!("account:{account}");
        let digest: [u8; 32] = Sha256::digest(format!("{scope} {key}")).into();
        let (id, _) = digest.split_at(16);
        Self {
            id: uuid::Uuid::from_slice(id).unwrap_or_default(),
            scope,
            key: key.into(),
            status: i16::try_from(stored.status).unwrap_or_default(),
            headers: stored.headers,
            body: stored.body,
        }
    }
}

impl Record {
    fn push<'b, DB>(&'b self, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: Backend,
        str: ToSql<Text, DB>,
        [u8]: ToSql<Binary, DB>,
        i16: ToSql<SmallInt, DB>,
    {
        for text in [&*self.scope, &*self.key, ENDPOINT] {
            out.push_sql(", ");
            out.push_bind_param::<Text, str>(text)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Binary, [u8]>(&FINGERPRINT)?;
        out.push_sql(", ");
        out.push_bind_param::<SmallInt, _>(&self.status)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, str>(&self.headers)?;
        out.push_sql(", ");
        out.push_bind_param::<Binary, [u8]>(&self.body)
    }
}

impl QueryFragment<Pg> for Record {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(INSERT);
        out.push_bind_param::<Uuid, _>(&self.id)?;
        self.push(&mut out)?;
        out.push_sql(", clock_timestamp(), clock_timestamp() + interval '1 day')");
        Ok(())
    }
}

impl QueryFragment<Sqlite> for Record {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(INSERT);
        out.push_bind_param::<Binary, [u8]>(self.id.as_bytes())?;
        self.push(&mut out)?;
        out.push_sql(
            ", strftime('%Y-%m-%d %H:%M:%f', 'now'), strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 day'))",
        );
        Ok(())
    }
}
