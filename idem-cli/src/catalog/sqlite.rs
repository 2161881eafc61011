//! The catalogs of SQLite.

use diesel::sql_types::Text;
use diesel::{QueryResult, SqliteConnection, sql_query};
use diesel_async::RunQueryDsl;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

use super::{Catalog, Name, Size, names};
use crate::args::Backend;

impl Catalog for SyncConnectionWrapper<SqliteConnection> {
    const BACKEND: Backend = Backend::Sqlite;

    async fn columns(&mut self, table: &str) -> QueryResult<Vec<String>> {
        let query = "SELECT name FROM pragma_table_info(?)";
        sql_query(query)
            .bind::<Text, _>(table)
            .load(self)
            .await
            .map(names)
    }

    async fn indexes(&mut self, table: &str) -> QueryResult<Vec<String>> {
        let query = "SELECT name FROM pragma_index_list(?)";
        sql_query(query)
            .bind::<Text, _>(table)
            .load(self)
            .await
            .map(names)
    }

    async fn versions(&mut self) -> QueryResult<Vec<String>> {
        if self.columns("__diesel_schema_migrations").await?.is_empty() {
            return Ok(Vec::new());
        }
        let query = "SELECT version AS name FROM __diesel_schema_migrations";
        sql_query(query).load::<Name>(self).await.map(names)
    }

    async fn is_durable(&mut self, _: &str) -> QueryResult<Option<bool>> {
        Ok(None)
    }

    async fn size(&mut self, _: &str) -> QueryResult<Size> {
        let query = "SELECT page_count * page_size AS table_bytes, NULL AS index_bytes, NULL AS rows, \
             NULL AS dead_rows, freelist_count * page_size AS free_bytes \
             FROM pragma_page_count, pragma_page_size, pragma_freelist_count";
        sql_query(query).get_result(self).await
    }
}
